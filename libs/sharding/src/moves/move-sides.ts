import { ShardingError } from '@app/routing';
import { lostLease } from './record/move-lease.js';
import { quoted } from './quoted.js';
import type { FenceRow } from './fence/fence-rows.js';
import type { MoveSession } from './move-session.js';
import type { MoveProof, MoveRecord } from './record/move-record.js';

/** What a shard itself knows of a move: what has committed there. */
export interface SideDone {
  /** At the destination: what the copy contained. */
  readonly copied?: MoveProof;
  /** At the destination: what it refused before the move, by rows of `_sharding_fence`. */
  readonly before?: readonly FenceRow[];
  /** At the source: how many rows were deleted, by table. */
  readonly purged?: Readonly<Record<string, string>>;
}

type Mover = Pick<MoveRecord, 'id' | 'epoch'>;

/**
 * Locks the shard's row of the move until the end of the transaction, for the epoch of the caller: what the transaction writes
 * from here on passes every fence.
 *
 * @returns what has committed here; undefined: nothing yet
 * @throws ShardingError `move_refused` where a later epoch stands there, or the shard has the other part in the move
 */
export async function claimSide(
  session: MoveSession,
  { id, epoch }: Mover,
  role: 'source' | 'destination',
): Promise<SideDone | undefined> {
  const sides = table(session);
  const { rows } = await session.client.query<{ done: SideDone | null; role: string }>(
    `insert into ${sides} as side (move_id, role, epoch) values ($1, $2, $3)
      on conflict (move_id) do update set epoch = excluded.epoch where side.epoch <= excluded.epoch
      returning done, role, set_config('nestjs_sharding.claimed', 'yes', true)`,
    [id, role, epoch],
  );
  const [side] = rows;
  if (!side) throw lostLease(id);
  if (side.role !== role) {
    throw new ShardingError(
      'move_refused',
      `the database that should be the ${role} of move ${id} is its ${side.role}: the URLs of the shards are not those that it began with`,
    );
  }
  return side.done ?? undefined;
}

/** In the transaction that has claimed the side; undefined: what was done is undone. */
export async function writeSide(session: MoveSession, id: string, done: SideDone | undefined): Promise<void> {
  await session.client.query(
    `update ${table(session)} set done = $2, changed_at = clock_timestamp() where move_id = $1`,
    [id, done ? JSON.stringify(done) : null],
  );
}

/** What has committed on a shard, without a lock. */
export async function readSide(session: MoveSession, id: string): Promise<SideDone | undefined> {
  const { rows } = await session.client.query<{ done: SideDone | null }>(
    `select done from ${table(session)} where move_id = $1`,
    [id],
  );
  return rows[0]?.done ?? undefined;
}

/** Of a move that has ended; where nobody could take it away, an audit finds it. */
export async function forgetSide(session: MoveSession, id: string): Promise<void> {
  await session.client.query(`delete from ${table(session)} where move_id = $1`, [id]);
}

function table({ schema }: MoveSession): string {
  return `${quoted(schema)}._sharding_move_sides`;
}
