import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Raw } from 'typeorm';
import { setTimeout as pause } from 'node:timers/promises';
import { FaultProxy, waitFor } from '@test/support';
import { withClient } from '../../support/admin-query.js';
import { MovingFleet } from '../../support/moving-fleet.js';
import { Scattered, fill, lower, upper } from './scattered.js';

/** Reads of all shards that run while a move goes on. */
const [acme = '', other = ''] = lower;
const [globex = ''] = upper;
let fleet: MovingFleet;
let scattered: Scattered;

beforeEach(async () => {
  fleet = await MovingFleet.create();
  await fill(fleet, [acme, other]);
  await fill(fleet, [globex], 1);
  scattered = await Scattered.boot(fleet.options);
});
afterEach(() => scattered.close());

it('hundreds of counts during a whole move are all exact', async () => {
  const other = await Scattered.boot(fleet.options);
  let running = true;
  const counts = new Map<string, number>();
  const loop = async ({ repo }: Scattered) => {
    while (running) {
      const seen = `${await repo.count()} ${(await repo.find({ select: { id: true } })).length}`;
      counts.set(seen, (counts.get(seen) ?? 0) + 1);
      await pause(20);
    }
  };
  const loops = [loop(scattered), loop(scattered), loop(other)];
  try {
    await moveAndConfirm('shard0', 'shard1');
    await moveAndConfirm('shard1', 'shard0');
    await waitFor(async () => (counts.get('60 60') ?? 0) >= 100, { what: 'a hundred scatters' });
  } finally {
    running = false;
    await Promise.allSettled(loops);
    await other.close();
  }
  await Promise.all(loops);
  expect([...counts.keys()]).toEqual(['60 60']);
}, 120_000);

async function moveAndConfirm(from: string, to: string): Promise<void> {
  await fleet.move({ from, to, keys: [acme] });
  await fleet.pin(acme, to);
  await fleet.confirm({ from, to, keys: [acme] });
}

/**
 * Begins a count that reads one shard after the other and stays on the first, and the work beside it; the count goes on
 * once that has been tried for a while.
 *
 * @returns what happened, in order
 */
async function besideCount(work: (reached: (point: string) => Promise<void>) => Promise<unknown>) {
  const happened: string[] = [];
  const [first = ''] = fleet.shards;
  const working = await withClient(first, async (client) => {
    await client.query('select pg_advisory_lock(7)');
    const waits = (url: string) =>
      `(${url} is not null and (select pg_advisory_xact_lock_shared(7))::text is not null)`;
    const counting = scattered.repo.count({ where: { url: Raw(waits) }, width: 1 });
    await waitFor(async () => (await waiting()) === 1, { what: 'the count to wait' });
    const begun = work(async (point) => void happened.push(point));
    begun.catch(() => undefined);
    await pause(1500);
    await client.query('select pg_advisory_unlock(7)');
    happened.push(`counted ${await counting}`);
    return { begun };
  });
  await working.begun;
  return happened;
}

const waiting = async () =>
  (await fleet.query(0, `select from pg_locks where locktype = 'advisory' and objid = 7 and not granted`))
    .length;

it('the copy of a move waits for a read that began before it', async () => {
  const happened = await besideCount((reached) => fleet.move({ keys: [acme] }, { reached }));
  expect(happened.slice(0, 3)).toEqual(['planned', 'counted 60', 'destination-closed']);
});

it('the rows are not deleted before a read has ended that looks for them', async () => {
  const back = { from: 'shard1', to: 'shard0', keys: [globex] };
  await fleet.move(back);
  const happened = await besideCount(async (reached) => {
    await fleet.pin(globex, 'shard0');
    await fleet.confirm(back, { reached });
  });
  expect(happened.slice(0, 2)).toEqual(['counted 60', 'tombstones-set']);
});

it('a stream that its consumer forgets holds up no move for good', async () => {
  const stream = scattered.repo.stream({ batchSize: 1, idleMs: 1500 });
  await stream.next();
  await fleet.move({ keys: [acme] });
  await expect(stream.next()).rejects.toMatchObject({ code: 'deadline_exceeded' });
});

it('waits for a process that hears nothing, and copies when it does', async () => {
  const proxy = await FaultProxy.start({ port: Number(new URL(fleet.control).port) });
  const { database } = fleet.options;
  const far = await Scattered.boot({
    ...fleet.options,
    database: { ...database, primaryUrl: proxy.url(fleet.control) },
  });
  proxy.blackHole();
  let copied = false;
  const moving = fleet.move(
    { keys: [acme] },
    { reached: async (point) => void (copied ||= point === 'rows-copied') },
  );
  await waitFor(async () => (await openMoves()) === 1, { what: 'the move to be recorded' });
  expect(await far.repo.count()).toBe(60);
  await scattered.settled(fleet);
  expect(copied).toBe(false);
  expect(await far.leavesOut()).toBe(false);
  proxy.heal();
  await moving;
  expect(await far.leavesOut()).toBe(true);
  expect(await far.repo.count()).toBe(60);
  await far.close();
  await proxy.dispose();
});

const openMoves = async () =>
  (await fleet.query('control', 'select distinct move_id from _sharding_move_subjects')).length;

it('refuses to copy where a process does not come back, and names it', async () => {
  await fleet.query(
    'control',
    `insert into _sharding_processes (process_id, name, revision, lease_until)
      values (gen_random_uuid(), 'deaf:1', 0, now() + interval '1 hour')`,
  );
  const notes: string[] = [];
  const hurried = { processesMs: 1500, note: (line: string) => void notes.push(line) };
  await expect(fleet.move({ keys: [acme] }, hurried)).rejects.toMatchObject({
    code: 'move_refused',
    message: expect.stringMatching(
      /^deaf:1 has not applied revision \d+ of the directory.*nothing was copied/,
    ),
  });
  expect(notes).toEqual([
    expect.stringMatching(/^waiting up to 1.5 s for deaf:1, which has not applied revision/),
  ]);
  expect(await fleet.query(1, 'select count(*)::int as n from bookmarks')).toEqual([{ n: 20 }]);
  expect(await scattered.repo.count()).toBe(60);
});
