/**
 * Every deliberate failure of the library: code -> HTTP status, and whether the same call may simply be tried again.
 * The table is closed; {@link ShardingErrorCode} is derived from it.
 */
export const SHARDING_ERRORS = {
  /** The value offered as a routing key is not one (wrong type, not an integer, ill-formed string). */
  invalid_routing_key: { status: 400, retryable: false },
  /** Routed work was asked for where no routing key is known. */
  no_routing_key: { status: 400, retryable: false },
  /** The request names its tenant in a way that is not acceptable. */
  invalid_tenant: { status: 400, retryable: false },
  /** The token that should name the tenant is missing, expired or not trustworthy. */
  invalid_token: { status: 401, retryable: false },
  /** The tenant of the request is not the tenant of the principal. */
  cross_tenant: { status: 403, retryable: false },
  /** No shard has that name. */
  unknown_shard: { status: 400, retryable: false },
  /** The text is no id of the kind that is asked for. */
  invalid_id: { status: 400, retryable: false },
  /** An id names a shard that is not there. */
  unregistered_shard: { status: 404, retryable: false },
  /** Neither the id nor the condition says on which shard the rows are. */
  no_placement: { status: 400, retryable: false },
  /** The entity was loaded from another shard than the one its values name now. */
  placement_changed: { status: 409, retryable: false },
  /** Data was about to be placed, or looked for, outside the group where it is allowed to live. */
  residency_violation: { status: 403, retryable: false },
  /** A transaction on one shard was about to contain work on another. */
  cross_shard_transaction: { status: 400, retryable: false },
  /** Reading across tenants is allowed to nobody, or not to this caller. */
  cross_shard_denied: { status: 403, retryable: false },
  /** A write was asked for where only reads exist: across shards. */
  cross_shard_write: { status: 400, retryable: false },
  /** What was asked for cannot be merged from the answers of several shards without loss. */
  cross_shard_unsupported: { status: 400, retryable: false },
  /** The page cursor was tampered with, or is of another query, topology or process. */
  invalid_cursor: { status: 400, retryable: false },
  /** The configuration forbids reads over all shards. */
  scatter_denied: { status: 403, retryable: false },
  /** A statement came after its transaction had ended. */
  transaction_closed: { status: 500, retryable: false },
  /** A statement failed inside the transaction and its error was swallowed: PostgreSQL commits nothing then. */
  transaction_aborted: { status: 500, retryable: false },
  /** The key of a request was changed after it had been routed. */
  routing_key_fixed: { status: 500, retryable: false },
  /** A call was given options that do not go together. */
  invalid_options: { status: 500, retryable: false },
  /** The keys that verify tokens cannot be fetched. */
  identity_unavailable: { status: 503, retryable: true },
  /** The database of the shard cannot be reached. */
  shard_unavailable: { status: 503, retryable: true },
  /** The shard's replica is not ready, and the configuration, or the caller, allows no other. */
  replica_unavailable: { status: 503, retryable: true },
  /** The directory of pins cannot be read, or what is known of it is too old. */
  directory_unavailable: { status: 503, retryable: true },
  /** The directory's row of the key cannot be obeyed. */
  invalid_pin: { status: 503, retryable: true },
  /** The work did not finish within the time it was given. */
  deadline_exceeded: { status: 504, retryable: false },
  /** The caller gave the work up. */
  aborted: { status: 503, retryable: false },
  /** The commit was sent and its answer was lost: it may have happened, so it is never tried again. */
  commit_unknown: { status: 500, retryable: false },
  /** An entity that lives on the shards was used on the control database. */
  sharded_entity_on_control: { status: 500, retryable: false },
  /** A migration did not succeed on one of its targets. */
  migration_failed: { status: 500, retryable: false },
  /** A database lacks a migration that this version needs. */
  migrations_pending: { status: 500, retryable: false },
  /** Slots changed their owner since the last boot, and no rows were moved with them. */
  slot_map_changed: { status: 500, retryable: false },
  /** The key is being moved to another shard, or lives on another one by now. */
  shard_moved: { status: 409, retryable: true },
  /** A move, or a step of one, cannot be done as things are. */
  move_refused: { status: 409, retryable: false },
  /** Two shards do not hold the same rows of what is moved. */
  move_mismatch: { status: 500, retryable: false },
  /** No move has that id. */
  unknown_move: { status: 404, retryable: false },
  /** A row was changed or deleted since it was loaded. */
  stale_row: { status: 409, retryable: true },
  /** An action over several shards was committed on some of them; the others are to be completed, or those undone. */
  partial_commit: { status: 500, retryable: false },
  /** The request has no idempotency key where it needs one, or one that is not acceptable. */
  idempotency_key_invalid: { status: 400, retryable: false },
  /** A request with the same idempotency key is under way. */
  idempotency_in_progress: { status: 409, retryable: true },
  /** The idempotency key was used with other parameters. */
  idempotency_mismatch: { status: 422, retryable: false },
  /** No action over several shards has that id. */
  unknown_action: { status: 404, retryable: false },
  /** What is asked of an action cannot be done in its state. */
  action_refused: { status: 409, retryable: false },
  /** The configured shards, groups, members or slots do not fit together. */
  invalid_topology: { status: 500, retryable: false },
  /** A slot number outside 0..16383. */
  invalid_slot: { status: 400, retryable: false },
  /** A router answered with something that is not a shard of the topology, or asked for a group without shards. */
  out_of_topology: { status: 500, retryable: false },
} as const satisfies Record<string, { readonly status: number; readonly retryable: boolean }>;

/** The closed set of error codes. */
export type ShardingErrorCode = keyof typeof SHARDING_ERRORS;

const BRAND = Symbol.for('nestjs-sharding.ShardingError');
const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/**
 * The one error class of the library. The message says what, where and what to do; what the driver threw is the `cause`.
 *
 * - `instanceof ShardingError` also holds for an error made by a second loaded copy of the library;
 *   a subclass is checked by its prototype, as usual.
 * - Neither `JSON.stringify` nor `util.inspect` prints the properties of the cause: a driver error carries row content
 *   and parameters. Inspection prints the stack and the name and code (SQLSTATE) of the cause.
 */
export class ShardingError extends Error {
  /** Which failure this is; look it up in {@link SHARDING_ERRORS}. */
  readonly code: ShardingErrorCode;

  static {
    for (const [key, value] of [
      ['name', 'ShardingError'],
      [BRAND, true],
      [INSPECT, inspectShardingError],
    ] as const) {
      Object.defineProperty(this.prototype, key, { value, writable: true, configurable: true });
    }
  }

  /**
   * @param code one of {@link SHARDING_ERRORS}
   * @param message what happened, where, and what to do; never a URL, a password or row content
   * @param options `cause`: the error of the driver, kept for programs and never printed in full
   */
  constructor(code: ShardingErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== ShardingError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === 'object' && value !== null && BRAND in value;
  }

  /** The HTTP status of the code. */
  get status(): number {
    return SHARDING_ERRORS[this.code].status;
  }

  /** Whether the same call may simply be tried again. */
  get retryable(): boolean {
    return SHARDING_ERRORS[this.code].retryable;
  }

  /** What may be shown to a client. */
  toJSON(): { code: ShardingErrorCode; message: string } {
    return { code: this.code, message: this.message };
  }
}

function inspectShardingError(this: ShardingError): string {
  const frames = /(?:\n {4}at [^\n]*)+$/.exec(this.stack ?? '')?.[0] ?? '';
  const cause = this.cause === undefined ? '' : `\n  cause: ${nameOfCause(this.cause)}`;
  return `${this.name} [${this.code}]: ${this.message}${frames}${cause}`;
}

/** Name and code only; both are checked for shape because they, too, come from elsewhere. */
function nameOfCause(cause: unknown): string {
  if (typeof cause !== 'object' || cause === null) return typeof cause;
  const { name, code } = cause as { name?: unknown; code?: unknown };
  const words = [name, code].filter((word) => typeof word === 'string' && /^[\w.$-]{1,60}$/.test(word));
  return words.length > 0 ? words.join(' ') : 'object';
}
