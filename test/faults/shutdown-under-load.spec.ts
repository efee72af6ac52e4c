import { afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { request } from 'node:http';
import { migrate, resolveOptions } from '@app/sharding';
import { TestCluster, expectNoConnections, waitFor } from '@test/support';
import { runOnce, withClient } from '../support/admin-query.js';
import { bookmarksOptions } from '../support/bookmarks.js';
import { BookmarksProcess } from '../support/bookmarks-process.js';
import { errorCode } from '../support/error-code.js';

/** SIGTERM to the service as a process, while requests run. */
const DRAIN_MS = 2000;
const TENANT = 'acme'; // shard0

let control: string;
let shards: string[];
let service: BookmarksProcess;

beforeAll(async () => {
  const cluster = TestCluster.attach();
  control = await cluster.createDatabase({ label: 'control' });
  shards = [
    await cluster.createDatabase({ label: 'shard0' }),
    await cluster.createDatabase({ label: 'shard1' }),
  ];
  await migrate(resolveOptions(bookmarksOptions({ control, shards })), () => undefined);
});

beforeEach(async () => {
  service = await BookmarksProcess.start({
    control,
    shards,
    settings: { SHARDING_DATABASE__DRAIN_TIMEOUT_MS: String(DRAIN_MS) },
  });
});

afterEach(async () => {
  await service.dispose();
  for (const url of [control, ...shards]) await expectNoConnections(url);
});

/** The status of an answer, or the code of the error when there was none. */
type End = number | string;

/** One write on a connection of its own: a reused one may be closed in the very moment of its use. */
function write(title: string): Promise<End> {
  return new Promise((resolve) => {
    const sent = request(
      `${service.url}/api/bookmarks`,
      {
        method: 'POST',
        agent: false,
        headers: { 'x-tenant-id': TENANT, 'content-type': 'application/json', connection: 'close' },
      },
      (response) => {
        response.resume();
        response.once('end', () => resolve(response.statusCode ?? 0));
        response.once('error', (error) => resolve(`half an answer: ${errorCode(error)}`));
      },
    );
    sent.once('error', (error) => resolve(errorCode(error) ?? 'no code'));
    sent.end(JSON.stringify({ url: 'https://nestjs.com', title }));
  });
}

const titles = async () =>
  (await runOnce(shards[0]!, 'select title from bookmarks')).map(({ title }) => title as string);

/** Asked of a path that needs no database. */
const noLongerServes = () =>
  fetch(`${service.url}/health/live`, { headers: { connection: 'close' } }).then(
    ({ status }) => status === 503,
    () => true,
  );

/** It has ended by itself, and nothing is said of a forgotten rejection. */
async function expectQuietEnd(): Promise<void> {
  await service.ended;
  expect(service.output).not.toMatch(/unhandled|uncaught|\n {4}at /i);
}

/** Holds up `requests` until `work` is done. */
async function whileLocked(work: (release: () => Promise<unknown>) => Promise<void>): Promise<void> {
  await withClient(shards[0]!, async (client) => {
    await client.query('begin');
    await client.query('lock table bookmarks in access exclusive mode');
    await work(() => client.query('rollback'));
  });
}

const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
const untilWaiting = (count: number) =>
  waitFor(async () => (await runOnce(shards[0]!, waiting)).length === count, {
    what: 'requests to be under way',
  });

it('requests under way are finished, new ones are not taken', async () => {
  await whileLocked(async (release) => {
    const underWay = Promise.all([1, 2, 3].map((index) => write(`under way ${index}`)));
    await untilWaiting(3);
    service.terminate();
    await waitFor(noLongerServes, { what: 'new requests to be refused' });
    await release();
    expect(await underWay).toEqual([201, 201, 201]);
  });
  await expectQuietEnd();
  expect((await titles()).filter((title) => title.startsWith('under way')).toSorted()).toEqual(
    [1, 2, 3].map((index) => `under way ${index}`),
  );
});

it('requests that do not finish within the drain time get a 503', async () => {
  await whileLocked(async () => {
    const stuck = Promise.all([1, 2, 3].map((index) => write(`stuck ${index}`)));
    await untilWaiting(3);
    const began = performance.now();
    service.terminate();
    expect(await stuck).toEqual([503, 503, 503]);
    await expectQuietEnd();
    expect(performance.now() - began).toBeLessThan(DRAIN_MS + 10_000);
  });
  expect((await titles()).filter((title) => title.startsWith('stuck'))).toEqual([]);
});

it('under load every request has a clear end and what was acknowledged is there once', async () => {
  const ends: { title: string; end: End }[] = [];
  let over = false;
  const lanes = Array.from({ length: 8 }, async (_none, lane) => {
    for (let turn = 0; !over; turn++) {
      const title = `load ${lane} ${turn}`;
      ends.push({ title, end: await write(title) });
    }
  });
  try {
    await waitFor(async () => ends.filter(({ end }) => end === 201).length > 80, { what: 'the load to run' });
    service.terminate();
    await service.ended;
  } finally {
    over = true;
    await Promise.all(lanes);
  }

  const clear: End[] = [201, 503, 'ECONNREFUSED', 'ECONNRESET'];
  expect(ends.filter(({ end }) => !clear.includes(end))).toEqual([]);
  const stored = await titles();
  const acknowledged = ends.filter(({ end }) => end === 201).map(({ title }) => title);
  expect(acknowledged.filter((title) => stored.filter((other) => other === title).length !== 1)).toEqual([]);
  const failed = new Set(ends.filter(({ end }) => end === 503).map(({ title }) => title));
  expect(stored.filter((title) => failed.has(title))).toEqual([]);
  await expectQuietEnd();
});

it('the exit code is 0', async () => {
  expect(await write('before')).toBe(201);
  service.terminate();
  expect(await service.ended).toEqual({ code: 0, signal: null });
});
