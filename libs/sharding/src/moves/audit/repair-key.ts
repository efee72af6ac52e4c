import { abortMove } from '../abort-move.js';
import { compareShards } from '../compare-shards.js';
import { moveSlot, purgeMove } from '../move-slot.js';
import { movesByPrefix, table } from '../record/move-rows.js';
import { planMove } from '../plan-move.js';
import { reading } from './reading.js';
import { reasonOf } from './audit-run.js';
import { requestedTables } from '../tables/key-scoped-tables.js';
import { withControl } from '../with-mover.js';
import type { MoveRecord } from '../record/move-record.js';
import type { MoveRequest } from '../move-request.js';
import type { RepairRun } from './repair-run.js';
import type { RepairStep } from './repair-options.js';
import type { RepairTask } from './repair-plan.js';

type Base = Pick<RepairRun, 'fleet' | 'call' | 'mode' | 'by'>;
const INTERRUPTED = 'interrupted: the same command goes on with it';

type KeyTask = Extract<RepairTask, { key: string }>;

/** Brings the rows of a key home, or deletes those that are there already, by a verified move. */
export async function repairKey(task: KeyTask, run: RepairRun): Promise<RepairStep> {
  const request = requestOf(task, run);
  const { shard, to, key, what } = task;
  try {
    const differing = what === 'delete-duplicate' ? await difference(request, run) : undefined;
    if (differing !== undefined) return { ...task, outcome: 'left', message: differing };
    if (run.mode === 'dry-run') {
      await withControl(run.fleet, run.call, (control) =>
        planMove(request, run.fleet, { ...run.call, control }),
      );
      return { ...task, outcome: 'planned', message: sentence(what, task) };
    }
    const { id } = await moved(request, run);
    return { ...task, outcome: 'done', move: id, message: `${sentence(what, task)}, verified` };
  } catch (error) {
    if (run.call.signal.aborted) return { what, shard, to, key, outcome: 'planned', message: INTERRUPTED };
    const end = run.mode === 'apply' ? await undone(request, run) : '';
    return { what, shard, to, key, outcome: 'refused', message: `${reasonOf(error)}${end}` };
  }
}

function requestOf({ shard, to, key, what }: KeyTask, { keyColumn, keyKind, by }: RepairRun): MoveRequest {
  const reason = what === 'move' ? 'misplaced' : 'duplicate';
  return { from: shard, to, keys: [key], keyColumn, keyKind, reason, by };
}

function sentence(what: KeyTask['what'], { shard, to }: KeyTask): string {
  return what === 'move'
    ? `moves rows from ${shard} to ${to}`
    : `deletes rows of ${shard} that ${to} has too`;
}

/** Why a human has to look at rows on two shards; undefined: they are the same. */
async function difference(request: MoveRequest, { fleet, call }: RepairRun): Promise<string | undefined> {
  const tables = await compareShards(request, fleet, call);
  const different = tables.filter(({ same }) => !same);
  if (different.length === 0) return undefined;
  const counts = different.map(
    ({ table: name, sourceRows, destinationRows }) =>
      `${name} has ${sourceRows} rows on ${request.from} and ${destinationRows} on ${request.to}`,
  );
  return `the rows are not the same, and none were touched: ${counts.join('; ')}: decide which are true (shardctl verify), delete the others`;
}

async function moved(
  request: MoveRequest,
  { fleet, call }: Pick<Base, 'fleet' | 'call'>,
): Promise<MoveRecord> {
  const { id } = await moveSlot(request, fleet, call);
  return withControl(fleet, call, (control) => purgeMove(id, fleet, { ...call, control }));
}

/** Takes back what was begun, as long as nothing has reached the other shard. @returns what is left, for people */
async function undone({ from, to, keys }: MoveRequest, { fleet, call }: RepairRun): Promise<string> {
  try {
    const open = await withControl(fleet, call, openRepairRecords);
    const own = open.filter(
      ({ source, destination, scope }) =>
        source === from && destination === to && 'keys' in scope && scope.keys[0] === keys?.[0],
    );
    for (const { id } of own) await abortMove(id, fleet, call);
    return '';
  } catch (error) {
    return `; what was begun is left as it is (${reasonOf(error)})`;
  }
}

/** Repairs that were interrupted, as steps. */
export async function openRepairs(base: Base): Promise<(() => Promise<RepairStep>)[]> {
  const open = await withControl(base.fleet, base.call, openRepairRecords);
  return open.map((record) => () => finish(record, base));
}

async function finish(record: MoveRecord, { fleet, call, mode, by }: Base): Promise<RepairStep> {
  const { id, source, destination, scope, terms, tables } = record;
  const place = { what: 'finish', shard: source, to: destination, move: id } as const;
  const key = 'keys' in scope ? scope.keys[0] : undefined;
  const step = { ...place, ...(key !== undefined && { key }) };
  if (mode === 'dry-run') return { ...step, outcome: 'planned', message: `goes on with repair ${id}` };
  const { keyColumn, keyKind, reason } = terms;
  const request = {
    from: source,
    to: destination,
    ...scope,
    tables: requestedTables(tables),
    keyColumn,
    keyKind,
    by,
  };
  try {
    await moved({ ...request, ...(reason !== undefined && { reason }) }, { fleet, call });
    return { ...step, outcome: 'done', message: `ended repair ${id}` };
  } catch (error) {
    if (call.signal.aborted) return { ...step, outcome: 'planned', message: INTERRUPTED };
    return { ...step, outcome: 'refused', message: reasonOf(error) };
  }
}

async function openRepairRecords(control: Parameters<typeof table>[0]): Promise<MoveRecord[]> {
  const { rows } = await reading(control, () =>
    control.client.query<{ id: string }>(
      `select id::text as id from ${table(control, 'moves')}
      where state not in ('purged', 'aborted') and request ->> 'reason' is not null order by started_at, id`,
    ),
  );
  const records: MoveRecord[] = [];
  for (const { id } of rows) records.push(...(await movesByPrefix(control, id)));
  return records;
}
