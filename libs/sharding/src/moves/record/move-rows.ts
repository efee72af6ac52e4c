import { quoted } from '../quoted.js';
import type pg from 'pg';
import type { MoveSession } from '../move-session.js';
import type { MoveProof, MoveRecord, MoveState, MoveStep, MoveTerms } from './move-record.js';
import type { MovedTable } from '../tables/moved-table.js';

interface MoveRow {
  readonly id: string;
  readonly state: MoveState;
  readonly epoch: string;
  readonly source: string;
  readonly destination: string;
  readonly group_id: number;
  readonly keys: string[] | null;
  readonly slots: number[] | null;
  readonly request: MoveTerms;
  readonly tables: MovedTable[];
  readonly proof: MoveProof | null;
  readonly steps: MoveStep[];
  readonly started_by: string;
  readonly started_at: Date;
  readonly changed_at: Date;
  readonly leased_until: Date | null;
}

const COLUMNS = `id, state, epoch, source, destination, group_id, keys, slots, request, tables, proof, steps,
  started_by, started_at, changed_at, case when leased_until > clock_timestamp() then leased_until end as leased_until`;

/** A move that has just been agreed on. */
export type NewMove = Pick<
  MoveRecord,
  'id' | 'source' | 'destination' | 'group' | 'scope' | 'terms' | 'tables' | 'startedBy'
>;

/** The table of the framework in a control database. */
export function table({ schema }: MoveSession, name: 'moves' | 'move_subjects' | 'slot_moves'): string {
  return `${quoted(schema)}.${quoted(`_sharding_${name}`)}`;
}

export async function insertMove(session: MoveSession, move: NewMove): Promise<void> {
  const { scope, terms, tables } = move;
  await session.client.query(
    `insert into ${table(session, 'moves')}
      (id, state, source, destination, group_id, keys, slots, request, tables, started_by)
      values ($1, 'planned', $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      move.id,
      move.source,
      move.destination,
      move.group,
      'keys' in scope ? scope.keys : null,
      'slots' in scope ? scope.slots : null,
      JSON.stringify(terms),
      JSON.stringify(tables),
      move.startedBy,
    ],
  );
}

/** How a move goes on that was asked for again: what is moved stays as it was. */
export async function changeManner(
  session: MoveSession,
  id: string,
  { writes, fenceMs, throttle }: MoveTerms,
): Promise<void> {
  await session.client.query(
    `update ${table(session, 'moves')} set request = request || $2::jsonb where id = $1`,
    [id, JSON.stringify({ writes, fenceMs, throttle })],
  );
}

/** The moves whose id begins so, at most two: more than one is not to be chosen from. */
export function movesByPrefix(session: MoveSession, prefix: string): Promise<MoveRecord[]> {
  return select(session, { text: 'where starts_with(id::text, $1) limit 2', values: [prefix] });
}

/** The newest first. */
export function recentMoves(session: MoveSession, limit: number): Promise<MoveRecord[]> {
  return select(session, { text: 'order by started_at desc, id limit $1', values: [limit] });
}

/** The moves that have not ended and share a key or a slot with these slots; `keys` of one slot each, null for whole slots. */
export function movesOf(
  session: MoveSession,
  group: number,
  { slots, keys }: { readonly slots: readonly number[]; readonly keys: readonly string[] | null },
): Promise<MoveRecord[]> {
  return select(session, {
    text: `where id in (
      select move_id from ${table(session, 'move_subjects')}
      where group_id = $1 and slot = any ($2::int[])
        and ($3::text[] is null or routing_key is null or routing_key = any ($3::text[])))`,
    values: [group, slots, keys],
  });
}

/** The purged move of any of these keys or slots, or of the slots of the keys, that ended last. */
export async function newestPurge(
  session: MoveSession,
  group: number,
  { slots, keys }: { readonly slots: readonly number[]; readonly keys: readonly string[] | null },
): Promise<MoveRecord | undefined> {
  const [newest] = await select(session, {
    text: `where state = 'purged' and group_id = $1 and (slots && $2::int[] or keys && $3::text[]) order by changed_at desc limit 1`,
    values: [group, slots, keys],
  });
  return newest;
}

/** How many keys the open moves name: those that move, and those of whole slots that do not. */
export async function keysMoving(session: MoveSession): Promise<number> {
  const { rows } = await session.client.query<{ keys: number }>(
    `select coalesce(sum(coalesce(cardinality(keys), 0) + jsonb_array_length(coalesce(request -> 'kept', '[]'))), 0)::int as keys
      from ${table(session, 'moves')} where id in (select move_id from ${table(session, 'move_subjects')})`,
  );
  return rows[0]?.keys ?? 0;
}

export async function insertSubjects(
  session: MoveSession,
  { id, group }: Pick<NewMove, 'id' | 'group'>,
  subjects: { readonly slots: readonly number[]; readonly keys: readonly (string | null)[] },
): Promise<void> {
  await session.client.query(
    `insert into ${table(session, 'move_subjects')} (move_id, group_id, slot, routing_key)
      select $1, $2, subject.slot, subject.key from unnest($3::int[], $4::text[]) as subject (slot, key)`,
    [id, group, subjects.slots, subjects.keys],
  );
}

/** Takes a move that nobody holds, with the next epoch. */
export async function lease(
  session: MoveSession,
  id: string,
  leaseMs: number,
): Promise<MoveRecord | undefined> {
  const { rows } = await session.client.query<MoveRow>(
    `update ${table(session, 'moves')} set epoch = epoch + 1, leased_until = clock_timestamp() + make_interval(secs => $2)
      where id = $1 and (leased_until is null or leased_until <= clock_timestamp()) returning ${COLUMNS}`,
    [id, leaseMs / 1000],
  );
  return rows[0] && recordOf(rows[0]);
}

/** @returns whether it is still held with this epoch */
export async function renewLease(
  session: MoveSession,
  { id, epoch }: Pick<MoveRecord, 'id' | 'epoch'>,
  leaseMs: number,
): Promise<boolean> {
  const { rowCount } = await session.client.query(
    `update ${table(session, 'moves')} set leased_until = clock_timestamp() + make_interval(secs => $3)
      where id = $1 and epoch = $2`,
    [id, epoch, leaseMs / 1000],
  );
  return rowCount === 1;
}

export async function endLease(
  session: MoveSession,
  { id, epoch }: Pick<MoveRecord, 'id' | 'epoch'>,
): Promise<void> {
  await session.client.query(
    `update ${table(session, 'moves')} set leased_until = null where id = $1 and epoch = $2`,
    [id, epoch],
  );
}

/** What a step has changed. */
export type MoveChange = Partial<Pick<MoveRecord, 'proof' | 'terms'>> & {
  readonly state: MoveState;
  readonly ms: number;
};

/** @returns the record as it is now; undefined where a later epoch stands in it */
export async function writeStep(
  session: MoveSession,
  { id, epoch }: Pick<MoveRecord, 'id' | 'epoch'>,
  { state, ms, proof, terms }: MoveChange,
): Promise<MoveRecord | undefined> {
  const { rows } = await session.client.query<MoveRow>(
    `update ${table(session, 'moves')} set state = $3, changed_at = clock_timestamp(),
        proof = coalesce($4, proof), request = coalesce($5, request),
        steps = steps || jsonb_build_object('state', $3::text, 'ms', $6::int,
          'at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
      where id = $1 and epoch = $2 returning ${COLUMNS}`,
    [id, epoch, state, proof ? JSON.stringify(proof) : null, terms ? JSON.stringify(terms) : null, ms],
  );
  return rows[0] && recordOf(rows[0]);
}

/** The keys and slots of a move that has ended are free. */
export async function deleteSubjects(session: MoveSession, id: string): Promise<void> {
  await session.client.query(`delete from ${table(session, 'move_subjects')} where move_id = $1`, [id]);
}

async function select(session: MoveSession, tail: pg.QueryConfig): Promise<MoveRecord[]> {
  const text = `select ${COLUMNS} from ${table(session, 'moves')} ${tail.text}`;
  const { rows } = await session.client.query<MoveRow>({ ...tail, text });
  return rows.map(recordOf);
}

function recordOf(row: MoveRow): MoveRecord {
  return {
    id: row.id,
    state: row.state,
    epoch: row.epoch,
    source: row.source,
    destination: row.destination,
    group: row.group_id,
    scope: row.keys ? { keys: row.keys } : { slots: row.slots ?? [] },
    terms: row.request,
    tables: row.tables,
    proof: row.proof ?? undefined,
    steps: row.steps,
    startedBy: row.started_by,
    startedAt: row.started_at,
    changedAt: row.changed_at,
    leasedUntil: row.leased_until ?? undefined,
  };
}
