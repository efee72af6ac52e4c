/** What an audit finds. */
export const AUDIT_KINDS = [
  'misplaced',
  'two_homes',
  'leftover',
  'orphan',
  'unroutable',
  'unreachable',
  'moving',
] as const;
export type AuditKind = (typeof AUDIT_KINDS)[number];

/** How many rows of a key a shard holds. */
export interface KeyHome {
  readonly shard: string;
  readonly rows: number;
}

/** What of a move is left. */
export const LEFTOVERS = ['move', 'triggers', 'own-tombstone', 'refused-pin', 'open-move'] as const;
export type Leftover = (typeof LEFTOVERS)[number];

/** One thing that is not as it should be. */
export interface AuditFinding {
  readonly kind: AuditKind;
  /** Rows are unsafe or lost to their readers; something is in the way; or nothing needs to be done. */
  readonly severity: 'error' | 'warning' | 'info';
  readonly shard: string;
  /** As `public.bookmarks`. */
  readonly table?: string;
  readonly key?: string;
  readonly slot?: number;
  /** Of the key, in this table of this shard. */
  readonly rows?: number;
  /** The shard that the key is routed to. */
  readonly routedTo?: string;
  /** With `two_homes`: the other shards with rows of the key, of all tables. */
  readonly homes?: readonly KeyHome[];
  /** Shards that could not be asked for rows of the key; absent: none. */
  readonly unasked?: readonly string[];
  /** With `leftover` and `moving`: the id of the move. */
  readonly move?: string;
  readonly leftover?: Leftover;
  /** With `open-move`: it is a repair, which the next repair goes on with. */
  readonly repair?: true;
  /** What and why, without a key. */
  readonly message: string;
  readonly remedy: string;
}

/** Whether there is nothing that anybody has to do. */
export function isClean(findings: readonly Pick<AuditFinding, 'severity'>[]): boolean {
  return findings.every(({ severity }) => severity === 'info');
}
