import { quoted } from '../quoted.js';
import { reading } from './reading.js';
import { STALE } from './open-moves.js';
import { table } from '../record/move-rows.js';
import type { MoveSession } from '../move-session.js';

/** What a shard keeps of a move that is over, or that nobody knows. */
export interface MoveLeftover {
  readonly id: string;
  readonly move: 'unknown' | 'aborted' | 'purged';
  /** Rows of `_sharding_fence` that have to go: those of a purged move are its tombstones, and stay. */
  readonly fences: number;
  /** Of those, whether writes are refused now. */
  readonly refuses: boolean;
  /** Has a row in `_sharding_move_sides` that has to go. */
  readonly side: boolean;
}

interface Trace {
  readonly id: string;
  readonly side: boolean;
  readonly tombstones: number;
  readonly fences: number;
  readonly standing: number;
}

/**
 * The shard is read before control: a move that begins in between is in both. What an ended move has left is in nobody's way at
 * first, and keeps late movers out; after a day nobody can be late any more.
 */
export async function moveLeftovers(session: MoveSession, control: MoveSession): Promise<MoveLeftover[]> {
  const traces = await tracesOn(session);
  const moves = await movesOf(
    control,
    traces.map(({ id }) => id),
  );
  return traces.flatMap((trace) => {
    const move = moves.get(trace.id);
    const left = leftOf(trace, move);
    return left ? [left] : [];
  });
}

interface KnownMove {
  readonly id: string;
  readonly state: string;
  readonly old: boolean;
}

function leftOf(trace: Trace, move: KnownMove | undefined): MoveLeftover | undefined {
  const { id, side, tombstones, fences, standing } = trace;
  if (move?.state === 'purged') {
    return side && move.old ? { id, move: 'purged', fences: 0, refuses: false, side } : undefined;
  }
  if (move && move.state !== 'aborted') return undefined;
  const refuses = tombstones + standing > 0;
  if (move && !move.old && !refuses) return undefined;
  const stale = side && (move?.old ?? true);
  return { id, move: move ? 'aborted' : 'unknown', fences: tombstones + fences, refuses, side: stale };
}

async function tracesOn(session: MoveSession): Promise<Trace[]> {
  const own = (name: string) => `${quoted(session.schema)}._sharding_${name}`;
  const { rows } = await reading(session, () =>
    session.client.query<Trace>(
      `select coalesce(s.move_id, f.move_id)::text as id, s.move_id is not null as side,
        coalesce(f.tombstones, 0)::int as tombstones, coalesce(f.fences, 0)::int as fences, coalesce(f.standing, 0)::int as standing
      from ${own('move_sides')} s full join (
          select move_id, count(*) filter (where state = 'moved') as tombstones, count(*) filter (where state <> 'moved') as fences,
            count(*) filter (where until > clock_timestamp() or state = 'incoming') as standing
          from ${own('fence')} group by move_id) f on f.move_id = s.move_id
      order by 1`,
    ),
  );
  return rows;
}

async function movesOf(
  control: MoveSession,
  ids: readonly string[],
): Promise<ReadonlyMap<string, KnownMove>> {
  if (ids.length === 0) return new Map();
  const { rows } = await reading(control, () =>
    control.client.query<KnownMove>(
      `select id::text as id, state, changed_at < clock_timestamp() - ${STALE} as old
      from ${table(control, 'moves')} where id = any ($1::uuid[])`,
      [ids],
    ),
  );
  return new Map(rows.map((move) => [move.id, move]));
}
