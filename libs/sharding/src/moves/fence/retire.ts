import { quoted } from '../quoted.js';
import type { FenceSubjects } from './fence-subjects.js';
import type { MoveSession } from '../move-session.js';

const fenceOf = ({ schema }: MoveSession) => `${quoted(schema)}._sharding_fence`;

/**
 * Takes rows of `_sharding_fence` away: slots with their exceptions, and keys. A key whose slot has left, or is fenced, was an
 * exception of it, or it could not have been fenced: it is one again, of the move of its slot.
 *
 * @param which a condition on `f` with the parameters `values`
 */
export async function retire(session: MoveSession, which: string, values: readonly unknown[]): Promise<void> {
  const fence = fenceOf(session);
  const { client } = session;
  await client.query(
    `with gone as (delete from ${fence} f where ${which} and f.subject >= 'slot:' returning f.slot)
      delete from ${fence} kept using gone where kept.slot = gone.slot and kept.state = 'kept'`,
    [...values],
  );
  await client.query(
    `update ${fence} f set (state, until, other_shard, move_id, epoch, changed_at) =
        ('kept', null, null, s.move_id, s.epoch, clock_timestamp())
      from ${fence} s where ${which} and f.subject < 'slot:' and s.subject = 'slot:' || f.slot`,
    [...values],
  );
  await client.query(`delete from ${fence} f where ${which}`, [...values]);
}

/** What has lifted itself. */
export function retireExpired(session: MoveSession): Promise<void> {
  return retire(session, `f.state = 'fenced' and f.until <= clock_timestamp()`, []);
}

/** Makes keys exceptions of their slots, where those have left; by one of `moves`, where some are given. */
export async function admit(
  session: MoveSession,
  { subjects, slots }: Pick<FenceSubjects, 'subjects' | 'slots'>,
  moves?: readonly string[],
): Promise<void> {
  await session.client.query(
    `insert into ${fenceOf(session)} (subject, slot, state, move_id, epoch)
      select given.subject, given.slot, 'kept', s.move_id, s.epoch
      from unnest($1::text[], $2::int[]) as given (subject, slot)
        join ${fenceOf(session)} s on s.subject = 'slot:' || given.slot and s.state = 'moved'
      where $3::uuid[] is null or s.move_id = any ($3::uuid[])
      on conflict (subject) do nothing`,
    [subjects, slots, moves ?? null],
  );
}

/** Whether anything is refused on this shard. */
export async function refusesAnything(session: MoveSession): Promise<boolean> {
  const { rows } = await session.client.query(
    `select from ${fenceOf(session)} f where f.state in ('moved', 'incoming') or f.until > clock_timestamp() limit 1`,
  );
  return rows.length > 0;
}
