import { quoted } from '../quoted.js';
import type { FenceSubjects } from './fence-subjects.js';
import type { MoveSession } from '../move-session.js';

/** Who fences: the move, and the epoch of its mover. */
export interface FenceOwner {
  readonly id: string;
  /** As text: a bigint. */
  readonly epoch: string;
}

/** How writes are refused: for a while, for ever, or until the rows have arrived. */
export type Refusal = 'fenced' | 'moved' | 'incoming';

/** What stands in `_sharding_fence`. */
export interface FenceRow {
  readonly subject: string;
  readonly slot: number;
  readonly state: 'moved' | 'kept';
  readonly move_id: string;
  readonly epoch: string;
  readonly other_shard: string | null;
}

export interface Obstacle {
  readonly subject: string;
  readonly state: Refusal;
  readonly moveId: string;
}

const own = ({ schema }: MoveSession, name: string) => `${quoted(schema)}._sharding_${name}`;

/** Locks the shard's row of the move. @returns whether a later epoch stands there */
export async function isLate(session: MoveSession, { id, epoch }: FenceOwner): Promise<boolean> {
  const { rows } = await session.client.query<{ late: boolean }>(
    `select epoch > $2 as late from ${own(session, 'move_sides')} where move_id = $1 for update`,
    [id, epoch],
  );
  return rows[0]?.late ?? false;
}

/**
 * What does not allow that the subjects are put: of this move a later epoch, or tombstones where a fence is raised; of others a
 * tombstone or a fence that stands, also the slot of a key that is no exception of it, and a key of a slot that is fenced.
 */
export async function obstacles(
  session: MoveSession,
  { id, epoch }: FenceOwner,
  { subjects, slots, state }: Pick<FenceSubjects, 'subjects' | 'slots'> & { readonly state: Refusal },
): Promise<Obstacle[]> {
  const fence = own(session, 'fence');
  const { rows } = await session.client.query<Obstacle>(
    `with wanted as (select subject, slot from unnest($3::text[], $4::int[]) as given (subject, slot))
    select f.subject, f.state, f.move_id::text as "moveId"
    from (
      select f.* from wanted w join ${fence} f on f.subject = w.subject
      union
      select f.* from wanted w join ${fence} f on f.slot = w.slot and f.subject = 'slot:' || w.slot
      where not exists (select from ${fence} mine where mine.subject = w.subject)
      union
      select f.* from wanted w join ${fence} f on f.slot = w.slot and f.subject >= 'key:' and f.subject < 'slot:'
      where w.subject >= 'slot:' and f.state = 'fenced') f
    where case when f.move_id = $1 then f.epoch > $2 or f.state = 'moved' and $5 = 'fenced'
      else f.state in ('moved', 'incoming') or f.until > clock_timestamp() end
    order by f.subject limit 1`,
    [id, epoch, subjects, slots, state],
  );
  return rows;
}

/** Says that there was a raise: to the row with the commit, to the sequence before it. */
export async function noteRaise(session: MoveSession): Promise<void> {
  const { rows } = await session.client.query<{ raised: string }>(
    `update ${own(session, 'fence_gate')} set raised = raised + 1 returning raised`,
  );
  await session.client.query(`select setval($1::regclass, $2)`, [
    own(session, 'fence_raises'),
    rows[0]?.raised,
  ]);
}

export interface PutOrder extends FenceSubjects, FenceOwner {
  readonly otherShard: string;
  readonly state: Refusal;
  /** Of a fence. */
  readonly forMs?: number | undefined;
}

/** What was an exception of the slots, and is none any more. */
export async function dropOldExceptions(session: MoveSession, { slots, kept }: FenceSubjects): Promise<void> {
  await session.client.query(
    `delete from ${own(session, 'fence')} where slot = any ($1::int[]) and subject >= 'key:' and subject < 'slot:'
      and state <> 'moved' and subject <> all ($2::text[])`,
    [slots, kept.subjects],
  );
}

export async function putSubjects(session: MoveSession, order: PutOrder): Promise<void> {
  const { subjects, slots, id, epoch, otherShard, state, forMs } = order;
  await session.client.query(
    `insert into ${own(session, 'fence')} (subject, slot, state, move_id, epoch, other_shard, until)
      select given.subject, given.slot, $7, $3, $4, $5,
        clock_timestamp() + make_interval(secs => $6::float8)
      from unnest($1::text[], $2::int[]) as given (subject, slot)
      on conflict (subject) do update set (slot, state, move_id, epoch, other_shard, until, changed_at) =
        (excluded.slot, excluded.state, excluded.move_id, excluded.epoch, excluded.other_shard, excluded.until,
          clock_timestamp())`,
    [subjects, slots, id, epoch, otherShard, forMs === undefined ? null : forMs / 1000, state],
  );
}

/** A key that has left has its tombstone already. */
export async function putExceptions(session: MoveSession, { kept, id, epoch }: PutOrder): Promise<void> {
  await session.client.query(
    `insert into ${own(session, 'fence')} as f (subject, slot, state, move_id, epoch)
      select given.subject, given.slot, 'kept', $3, $4 from unnest($1::text[], $2::int[]) as given (subject, slot)
      on conflict (subject) do update set (state, until, move_id, epoch, other_shard, changed_at) =
        ('kept', null, excluded.move_id, excluded.epoch, null, clock_timestamp())
      where f.state <> 'moved'`,
    [kept.subjects, kept.slots, id, epoch],
  );
}

/** @returns until when all subjects are fenced by this move, as text; undefined where one is not, or not any more */
export async function fencedUntil(
  session: MoveSession,
  { id }: FenceOwner,
  { subjects }: Pick<FenceSubjects, 'subjects'>,
): Promise<string | undefined> {
  const { rows } = await session.client.query<{ until: string | null }>(
    `select case when count(*) = cardinality($2::text[]) then min(until)::text end as until from ${own(session, 'fence')}
      where move_id = $1 and state = 'fenced' and until > clock_timestamp() and subject = any ($2::text[])`,
    [id, subjects],
  );
  return rows[0]?.until ?? undefined;
}

export async function isBefore({ client }: MoveSession, time: string): Promise<boolean> {
  const { rows } = await client.query<{ before: boolean }>(
    `select clock_timestamp() < $1::timestamptz as before`,
    [time],
  );
  return rows[0]?.before ?? false;
}

/** Milliseconds until the first fence of the move lifts itself, by the clock of the shard; 0: it has none. */
export async function fenceLeft(session: MoveSession, { id, epoch }: FenceOwner): Promise<number> {
  const { rows } = await session.client.query<{ ms: number }>(
    `select greatest(0, coalesce(extract(epoch from min(until) - clock_timestamp()) * 1000, 0))::float8 as ms
      from ${own(session, 'fence')} where move_id = $1 and epoch = $2 and state = 'fenced'`,
    [id, epoch],
  );
  return rows[0]?.ms ?? 0;
}

/** What this session writes passes the fence of the move from now on. */
export async function passFence({ client }: MoveSession, { id, epoch }: FenceOwner): Promise<void> {
  await client.query(`select set_config('nestjs_sharding.move', $1::uuid || ':' || $2::bigint, false)`, [
    id,
    epoch,
  ]);
}

/** Exceptions and tombstones of the subjects; of slots also those of their keys. */
export async function standing(
  session: MoveSession,
  { form, subjects, slots }: FenceSubjects,
): Promise<FenceRow[]> {
  const { rows } = await session.client.query<FenceRow>(
    `select subject, slot, state, move_id::text as move_id, epoch::text as epoch, other_shard from ${own(session, 'fence')}
      where state in ('moved', 'kept') and (subject = any ($1::text[]) or $2 = 'slot' and slot = any ($3::int[]))
      order by subject`,
    [subjects, form, slots],
  );
  return rows;
}

/** Puts back what {@link standing} has given. */
export async function putBack(
  session: MoveSession,
  { form, subjects, slots }: FenceSubjects,
  before: readonly FenceRow[],
): Promise<void> {
  const fence = own(session, 'fence');
  await session.client.query(
    `delete from ${fence} where state in ('kept', 'incoming')
      and (subject = any ($1::text[]) or $2 = 'slot' and slot = any ($3::int[]))`,
    [subjects, form, slots],
  );
  await session.client.query(
    `insert into ${fence} (subject, slot, state, move_id, epoch, other_shard)
      select subject, slot, state, move_id, epoch, other_shard from json_populate_recordset(null::${fence}, $1::json)
      on conflict (subject) do nothing`,
    [JSON.stringify(before)],
  );
}
