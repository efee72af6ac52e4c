import { reading } from './reading.js';
import { table } from '../record/move-rows.js';
import type { AuditFinding } from './audit-finding.js';
import type { MoveSession } from '../move-session.js';
import type { MoveState } from '../record/move-record.js';

interface OpenMove {
  readonly id: string;
  readonly state: MoveState;
  readonly source: string;
  readonly destination: string;
  readonly subjects: number;
  readonly scope: 'key' | 'slot';
  readonly reason: string | null;
  readonly stale: boolean;
}

/** A mover that has done nothing for so long does not come back by itself. */
export const STALE = `interval '1 day'`;

/** Moves that have not ended; those that nobody works on for a day are left over. */
export async function openMoves(control: MoveSession, shards: readonly string[]): Promise<AuditFinding[]> {
  const { rows } = await reading(control, () =>
    control.client.query<OpenMove>(
      `select id::text as id, state, source, destination, coalesce(cardinality(keys), cardinality(slots)) as subjects,
        case when keys is null then 'slot' else 'key' end as scope, request ->> 'reason' as reason,
        changed_at < clock_timestamp() - ${STALE} and coalesce(leased_until < clock_timestamp(), true) as stale
      from ${table(control, 'moves')}
      where state not in ('purged', 'aborted') and (source = any ($1::text[]) or destination = any ($1::text[]))
      order by started_at, id`,
      [shards],
    ),
  );
  return rows.map(findingOf);
}

function findingOf({
  id,
  state,
  source,
  destination,
  subjects,
  scope,
  reason,
  stale,
}: OpenMove): AuditFinding {
  const what = `${subjects} ${scope}${subjects === 1 ? '' : 's'} from ${source} to ${destination}`;
  const move = { shard: source, move: id } as const;
  const message = `${reason === null ? 'move' : 'repair'} of ${what} is ${state}`;
  if (!stale) {
    return {
      ...move,
      kind: 'moving',
      severity: 'info',
      message,
      remedy: 'nothing to do: its rows may be on both shards',
    };
  }
  return {
    ...move,
    kind: 'leftover',
    leftover: 'open-move',
    ...(reason !== null && { repair: true }),
    severity: 'warning',
    message: `${message}, and nobody has worked on it for a day`,
    remedy: reason === null ? remedyOf(state) : 'shardctl repair goes on with it',
  };
}

function remedyOf(state: MoveState): string {
  if (state === 'verified') return 'change the route and purge it, or end it: purge, move abort';
  return 'go on with it, or end it: move resume, move abort';
}

/** Of these keys those that an open move has on its way from or to the shard. */
export async function movingKeys(
  control: MoveSession,
  shard: string,
  keys: readonly { readonly key: string; readonly slot: number }[],
): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  const { rows } = await reading(control, () =>
    control.client.query<{ key: string }>(
      `select distinct given.key from unnest($1::text[], $2::int[]) given (key, slot)
        join ${table(control, 'move_subjects')} s
          on s.slot = given.slot and (s.routing_key is null or s.routing_key = given.key collate "C")
        join ${table(control, 'moves')} m on m.id = s.move_id
      where $3 in (m.source, m.destination) and m.state not in ('purged', 'aborted')
        and not (s.routing_key is null and coalesce(m.request -> 'kept' ? given.key, false))`,
      [keys.map(({ key }) => key), keys.map(({ slot }) => slot), shard],
    ),
  );
  return new Set(rows.map(({ key }) => key));
}
