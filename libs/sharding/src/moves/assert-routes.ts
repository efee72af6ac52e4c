import { isDeepStrictEqual } from 'node:util';
import { setTimeout as pause } from 'node:timers/promises';
import { ShardingError } from '@app/routing';
import { keptKeys, printSubjects, routesOf, type Routes } from './routes.js';
import { quoted } from './quoted.js';
import type { MoveSession } from './move-session.js';
import type { MoveFleet, Mover } from './mover.js';
import type { MoveRecord } from './record/move-record.js';

/** Before rows are copied or a copy is taken away: at the destination nobody may be writing, unless it is a repair. @throws ShardingError `move_refused` */
export async function assertStaysAtSource(mover: Mover): Promise<void> {
  const { control, fleet, lease } = mover;
  await assertRouted(control, fleet, lease.record);
  if (lease.record.terms.reason === undefined) await assertSameKept(mover);
}

type Routed = Pick<MoveRecord, 'source' | 'destination' | 'group' | 'scope' | 'terms'>;

/** The same of a move that nobody has begun yet. @throws ShardingError `move_refused` */
export async function assertRouted(control: MoveSession, fleet: MoveFleet, move: Routed): Promise<void> {
  const { source, destination, terms } = move;
  const routes = await routesOf(control, fleet, questionOf(move));
  if (terms.reason !== undefined) return assertRoutedTo(routes, destination);
  const strangers = elsewhere(routes, source);
  if (strangers.length === 0) return;
  throw new ShardingError(
    'move_refused',
    `${printSubjects(strangers)} is not routed to ${source}: where a key is routed its rows are alive and are never overwritten. ${destinationAdvice(routes, destination)}`,
  );
}

/** A repair brings rows to where their key is routed already. @throws ShardingError `move_refused` */
function assertRoutedTo(routes: Routes, destination: string): void {
  const strangers = elsewhere(routes, destination);
  if (strangers.length === 0) return;
  throw new ShardingError(
    'move_refused',
    `${printSubjects(strangers)} is not routed to ${destination} any more: look again what is misplaced (shardctl audit)`,
  );
}

/** Before rows are deleted. @throws ShardingError `move_refused` */
export async function assertRoutedAway(mover: Mover): Promise<void> {
  const { lease, control, fleet } = mover;
  const { state, source, destination, scope } = lease.record;
  if (state === 'planned' || state === 'copied' || state === 'fenced') {
    throw new ShardingError(
      'move_refused',
      `move ${lease.record.id} is ${state}, not verified: run it to its end first`,
    );
  }
  const strangers = elsewhere(await routesNow(mover), destination);
  if (strangers.length > 0) {
    const how = 'keys' in scope ? 'pin it to' : 'give the slots in the configuration to';
    throw new ShardingError(
      'move_refused',
      `${printSubjects(strangers)} is not routed to ${destination} yet, and the rows at ${source} are in use: ${how} ${destination} first`,
    );
  }
  await assertSameKept(mover);
  if (fleet.directory === 'ignored') return;
  await allProcessesKnow(control, { ...mover, harmless: 'nothing was deleted' });
}

function routesNow({ control, fleet, lease }: Mover): Promise<Routes> {
  return routesOf(control, fleet, questionOf(lease.record));
}

function questionOf({ group, scope, terms }: Pick<MoveRecord, 'group' | 'scope' | 'terms'>) {
  return { group, scope, keyKind: terms.keyKind };
}

function elsewhere(routes: Routes, shard: string): string[] {
  return [...routes].flatMap(([name, subjects]) => (name === shard ? [] : subjects));
}

function destinationAdvice(routes: Routes, destination: string): string {
  if (!routes.has(destination)) return 'Name the shard that it is routed to with --from';
  return 'To take it to its destination for good, run the command with --confirm';
}

/** A pin that came or went in one of the slots changed whose rows these are. */
async function assertSameKept({ control, fleet, lease }: Mover): Promise<void> {
  const { record } = lease;
  const now = await keptKeys(control, fleet, questionOf(record));
  if (isDeepStrictEqual(now, [...record.terms.kept])) return;
  throw new ShardingError(
    'move_refused',
    `pins of these slots came or went since move ${record.id} was planned: abort it and begin again`,
  );
}

/**
 * Before rows are copied: every process leaves copies out of its reads of all shards.
 *
 * @throws ShardingError `move_refused` naming the processes that do not answer
 */
export async function untilReadsKnow(mover: Mover): Promise<void> {
  const { control, fleet, signal, lease } = mover;
  if (fleet.directory === 'ignored' && lease.record.state === 'planned') {
    await pause(POLLED_MS, undefined, { signal });
  }
  await allProcessesKnow(control, { ...mover, harmless: 'nothing was copied' });
}

/**
 * Before a copy is taken away: nobody is left who was routed to it, and would write there.
 *
 * @throws ShardingError `move_refused` naming the processes that do not answer
 */
export async function untilRoutesKnown(mover: Mover): Promise<void> {
  if (mover.fleet.directory === 'ignored') return;
  await allProcessesKnow(mover.control, { ...mover, harmless: 'nothing was taken away' });
}

/** A process that follows no directory has no lease; it asks what moves before a read of all shards, each second at most. */
const POLLED_MS = 2000;
const POLL_MS = 100;
const TELL_AFTER_MS = 1000;

interface Wait extends Pick<Mover, 'signal' | 'note' | 'processesMs'> {
  /** What is told of a wait in vain. */
  readonly harmless: string;
}

/** That the directory is what it is now; what changes later is not waited for. */
async function allProcessesKnow(
  control: MoveSession,
  { signal, harmless, note, processesMs }: Wait,
): Promise<void> {
  const began = performance.now();
  const ends = began + processesMs;
  const revision = await revisionNow(control);
  for (let told = false; ;) {
    const behind = await processesBehind(control, revision);
    if (behind.length === 0) return;
    if (!told && performance.now() - began > TELL_AFTER_MS) {
      told = true;
      note(
        `waiting up to ${processesMs / 1000} s for ${printSubjects(behind)}, which has not applied revision ${revision} of the directory yet`,
      );
    }
    if (performance.now() > ends) {
      throw new ShardingError(
        'move_refused',
        `${printSubjects(behind)} has not applied revision ${revision} of the directory, or a read of all shards runs there that is older: ${harmless}; wait for it, or end it`,
      );
    }
    await pause(POLL_MS, undefined, { signal });
  }
}

async function revisionNow({ client, schema }: MoveSession): Promise<string> {
  const { rows } = await client.query<{ revision: string }>(
    `select revision from ${quoted(schema)}._sharding_revision`,
  );
  return rows[0]?.revision ?? '0';
}

async function processesBehind({ client, schema }: MoveSession, revision: string): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select name from ${quoted(schema)}._sharding_processes
      where lease_until > clock_timestamp() and revision < $1 order by name`,
    [revision],
  );
  return rows.map(({ name }) => name);
}
