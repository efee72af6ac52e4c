import { ShardingError } from '@app/routing';
import { abortMove } from './abort-move.js';
import { admitOnShard } from './audit/admit-on-shard.js';
import { audit } from './audit/audit.js';
import { repair, type RepairOptions, type RepairReport } from './audit/repair.js';
import { moveCertificate, type MoveCertificate } from './certificate.js';
import { compareShards, type ComparedTable, type CompareRequest } from './compare-shards.js';
import { confirmMove, moveSlot, purgeMove } from './move-slot.js';
import { hasEnded } from './record/move-record.js';
import { movesByPrefix, recentMoves } from './record/move-rows.js';
import { requestedTables } from './tables/key-scoped-tables.js';
import { withControl } from './with-mover.js';
import type { AuditOptions, AuditReport, AuditRequest } from './audit/audit-request.js';
import type { MoveCall, MoveFleet } from './mover.js';
import type { MoveRecord } from './record/move-record.js';
import type { MoveRequest } from './move-request.js';
import type { MoveSession } from './move-session.js';

/** How a verb of {@link Moves} runs; all have defaults. */
export type MoveOptions = Partial<MoveCall>;

export interface ListMovesOptions extends MoveOptions {
  /** Default 100. */
  readonly limit?: number;
}

const LISTED = 100;
const MOST_LISTED = 10_000;

/**
 * Moves rows between shards, with proof. What a move is, which states it has and what a crash leaves is in `moves/MOVE.md`.
 * Every verb may be repeated: it goes on where it was.
 */
export class Moves {
  readonly #fleet: () => MoveFleet;

  /** @param fleet asked at each call; may throw, where there is no control database */
  constructor(fleet: () => MoveFleet) {
    this.#fleet = fleet;
  }

  /**
   * Copies and verifies; the rows stay at the source. Then change the route, and {@link confirm}.
   *
   * @throws ShardingError `move_refused` with all that is in the way, `unknown_shard`, `residency_violation`; {@link MoveMismatch}
   */
  async move(request: MoveRequest, options?: MoveOptions): Promise<MoveRecord> {
    return moveSlot(request, this.#fleet(), callOf(options));
  }

  /** Deletes the verified rows of the request at the source. @throws ShardingError `move_refused`; {@link MoveMismatch} */
  async confirm(request: MoveRequest, options?: MoveOptions): Promise<MoveRecord> {
    return confirmMove(request, this.#fleet(), callOf(options));
  }

  /** What two shards hold of the same rows; at any time. */
  async verify(request: CompareRequest, options?: MoveOptions): Promise<ComparedTable[]> {
    return compareShards(request, this.#fleet(), callOf(options));
  }

  /** The newest first. @throws ShardingError `invalid_options` */
  async list({ limit = LISTED, ...options }: ListMovesOptions = {}): Promise<MoveRecord[]> {
    if (!Number.isInteger(limit) || limit < 1 || limit > MOST_LISTED) {
      throw new ShardingError('invalid_options', `limit is a whole number from 1 to ${MOST_LISTED}`);
    }
    return withControl(this.#fleet(), callOf(options), (control) => recentMoves(control, limit));
  }

  /** @param id or the beginning of one. @throws ShardingError `unknown_move` */
  async show(id: string, options?: MoveOptions): Promise<MoveRecord> {
    return withControl(this.#fleet(), callOf(options), (control) => theMove(control, id));
  }

  /** Goes on with an interrupted move as it was asked for. @throws ShardingError `move_refused` where it has ended */
  async resume(id: string, options?: MoveOptions): Promise<MoveRecord> {
    const move = await this.show(id, options);
    if (!hasEnded(move)) return this.move(requestOf(move), options);
    throw new ShardingError('move_refused', `move ${move.id} has ended: it is ${move.state}`);
  }

  /** The same as {@link confirm} by the id. */
  async purge(id: string, options?: MoveOptions): Promise<MoveRecord> {
    const [fleet, call] = [this.#fleet(), callOf(options)];
    return withControl(fleet, call, async (control) => {
      const move = await theMove(control, id);
      return move.state === 'purged' ? move : purgeMove(move.id, fleet, { ...call, control });
    });
  }

  /** Takes the copy away again. @throws ShardingError `move_refused` once it is in use */
  async abort(id: string, options?: MoveOptions): Promise<MoveRecord> {
    const move = await this.show(id, options);
    return move.state === 'aborted' ? move : abortMove(move.id, this.#fleet(), callOf(options));
  }

  /**
   * Lets a key write on the shard that it is pinned to, where the slot of the key had left that shard before: a pin alone does
   * not. Nothing is done for a key that is not refused there.
   *
   * @returns whether it was refused. @throws ShardingError `unknown_shard`, `shard_unavailable`
   */
  async admit(key: string, shard: string, options?: MoveOptions): Promise<boolean> {
    return (await admitOnShard({ shard, key }, this.#fleet(), callOf(options))) > 0;
  }

  /** What the move has done, signed where `move_certificate_secret` is set. @throws ShardingError `unknown_move` */
  async certificate(id: string, options?: MoveOptions): Promise<MoveCertificate> {
    return moveCertificate(await this.show(id, options), this.#fleet().certificateSecret);
  }

  /**
   * Looks for rows on shards that their key is not routed to, for what moves have left, and for rows that belong to nobody. Reads
   * only; a shard that cannot be reached is a finding. After `signal` the report says how to go on.
   *
   * @throws ShardingError `invalid_options`, `invalid_cursor`, `unknown_shard`
   */
  async audit(request: AuditRequest = {}, options: AuditOptions = {}): Promise<AuditReport> {
    return audit(request, this.#fleet(), options);
  }

  /**
   * Mends what an audit has found, as far as no row can be lost by it, each key for itself: the report says what became of each.
   * With `dry-run` nothing is changed.
   *
   * @throws ShardingError as {@link audit} does, when it is given a request
   */
  async repair(what: AuditReport | AuditRequest, options: RepairOptions): Promise<RepairReport> {
    return repair(what, this.#fleet(), options);
  }
}

function callOf(options: MoveOptions = {}): MoveCall {
  return { ...options, signal: options.signal ?? new AbortController().signal };
}

async function theMove(control: MoveSession, id: string): Promise<MoveRecord> {
  const [move, other] = id === '' ? [] : await movesByPrefix(control, id.toLowerCase());
  if (move && !other) return move;
  const problem = other ? 'is the beginning of several moves' : 'is no move';
  throw new ShardingError('unknown_move', `${JSON.stringify(id)} ${problem}: "moves" lists them`);
}

function requestOf({ source, destination, scope, terms, tables, startedBy }: MoveRecord): MoveRequest {
  return {
    ...terms,
    from: source,
    to: destination,
    ...scope,
    tables: requestedTables(tables),
    ids: tables.some((table) => table.renumbered != null) ? 'reassigned' : 'kept',
    ...(terms.throttle === null ? { throttle: undefined } : { throttle: terms.throttle }),
    by: startedBy,
  } as MoveRequest;
}
