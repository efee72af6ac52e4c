/** A row of `_sharding_action_ledger`: an action that was applied under an idempotency key. */
export interface LedgerRow {
  /** Derived from the action's name, its home and the idempotency key. */
  readonly actionId: string;
  readonly action: string;
  readonly routingKey: string | undefined;
  readonly paramsHash: string;
  /** The attempt that was committed, by the id that its events, and its parts, have. */
  readonly runId: string;
  /** Of more than one there is a journal. */
  readonly runParts: number;
  /** Without `value` where there was none. */
  readonly result: { readonly value?: unknown };
}
