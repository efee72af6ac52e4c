import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Raw } from 'typeorm';
import { HashRouter } from '@app/routing';
import { FaultProxy, waitFor } from '@test/support';
import { withClient } from '../../support/admin-query.js';
import { MovingFleet } from '../../support/moving-fleet.js';
import { Scattered, fill, lower } from './scattered.js';
import type { ShardingOptions } from '@app/sharding';

/** An application that follows no directory asks what moves. */
const [acme = '', other = ''] = lower;
let fleet: MovingFleet;
let proxy: FaultProxy;
let scattered: Scattered;
let options: ShardingOptions;

beforeAll(async () => {
  fleet = await MovingFleet.create();
  await fill(fleet, [acme, other]);
  proxy = await FaultProxy.start({ port: Number(new URL(fleet.control).port) });
  const database = { ...fleet.options.database, directoryShardRouter: false };
  options = { ...fleet.options, database };
  scattered = await Scattered.boot({
    ...options,
    database: { ...database, primaryUrl: proxy.url(fleet.control), connectTimeoutMs: 1000 },
  });
});

afterAll(async () => {
  await scattered.close();
  await proxy.dispose();
});

it('asks once a second at most, and once for all who read at the same time', async () => {
  await scattered.repo.count();
  const [before, began] = [proxy.statements, performance.now()];
  await Promise.all(Array.from({ length: 30 }, () => scattered.repo.count()));
  const seconds = (performance.now() - began) / 1000;
  expect(proxy.statements - before).toBeLessThanOrEqual(2 * (seconds + 1));
});

it('gives no answer of a read that lasted while rows began to move', async () => {
  const waits = (url: string) =>
    `(${url} is not null and (select pg_advisory_xact_lock_shared(7))::text is not null)`;
  const waiting = `select from pg_locks where locktype = 'advisory' and objid = 7 and not granted`;
  const slow = () => scattered.repo.count({ where: { url: Raw(waits) }, width: 1 });
  await withClient(fleet.shards[0]!, async (holder) => {
    await holder.query('select pg_advisory_lock(7)');
    const counting = slow(); // one shard after the other, and it stays on the first
    counting.catch(() => undefined);
    await waitFor(async () => (await fleet.query(0, waiting)).length === 1, { what: 'the count to wait' });
    const { id } = await fleet.moves((moves) => moves.move(fleet.request({ keys: [acme] })), options);
    await holder.query('select pg_advisory_unlock(7)');
    await expect(counting).rejects.toMatchObject({ code: 'shard_moved', retryable: true });
    expect(await slow()).toBe(40);
    await fleet.moves((moves) => moves.abort(id), options);
  });
});

it('counts once during a move, also while the control database does not answer', async () => {
  const { id } = await fleet.moves((moves) => moves.move(fleet.request({ keys: [acme] })), options);
  expect(await scattered.repo.count()).toBe(40);
  expect(await scattered.leavesOut()).toBe(true);
  proxy.blackHole();
  for (let n = 0; n < 3; n++) {
    const began = performance.now();
    expect(await scattered.repo.count()).toBe(40);
    expect(performance.now() - began).toBeLessThan(3000);
    await new Promise((resolve) => setTimeout(resolve, 600));
  }
  proxy.heal();
  await fleet.moves((moves) => moves.abort(id), options);
  expect(await scattered.repo.count()).toBe(40);
});

it('asks for each read, and once more after it, where a router of its own stands in for the directory', async () => {
  const { database } = fleet.options;
  const own = await Scattered.boot({
    ...fleet.options,
    router: new HashRouter(),
    database: { ...database, primaryUrl: proxy.url(fleet.control) },
  });
  try {
    await own.repo.count();
    const before = proxy.statements;
    for (let n = 0; n < 5; n++) expect(await own.repo.count()).toBe(40);
    expect(proxy.statements - before).toBeGreaterThanOrEqual(10);
    const seen: number[] = [];
    const reached = async () => void seen.push(await own.repo.count());
    const { id } = await fleet.move({ keys: [acme] }, { reached });
    expect(new Set(seen)).toEqual(new Set([40]));
    await fleet.moves((moves) => moves.abort(id));
  } finally {
    await own.close();
  }
});
