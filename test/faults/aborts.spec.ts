import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { Shards } from '@app/sharding';
import { expectNoConnections, waitFor } from '@test/support';
import { Note, bootApp, deployment, type Deployment } from '../support/deployment.js';
import type { INestApplication } from '@nestjs/common';
import type { ShardDb } from '@app/sharding';

const ABORTS = 3000;
const WIDTH = 24;
const SEED = Number(process.env['TEST_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

let place: Deployment;
let app: INestApplication;
let db: ShardDb;

beforeAll(async () => {
  place = await deployment(1);
  app = await bootApp(place.options({ poolSize: 4 }));
  db = await app.get(Shards).dbOn('shard0');
});

afterAll(async () => {
  await app.close();
  for (const url of place.shards) await expectNoConnections(url);
});

/** A small generator of its own, so that a run can be repeated. */
function random(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}

const codeOf = (error: { code?: string; message: string }) =>
  error.code === 'aborted' ? error.code : error.message;

const KINDS: ((signal: AbortSignal) => Promise<unknown>)[] = [
  (signal) => db.query('select pg_sleep(30)', [], { signal }),
  (signal) => db.tx(async (tx) => tx.query('select pg_sleep(30)'), { signal }),
  (signal) =>
    db.tx(
      async (tx) => {
        await tx.getRepository(Note).insert({ tenantId: 'acme', body: 'never' });
        await tx.tx((inner) => inner.query('select pg_sleep(30)'));
      },
      { signal },
    ),
  async (signal) => {
    const [end] = await app.get(Shards).each((each) => each.query('select pg_sleep(30)'), { signal });
    if (end && !end.ok) throw end.error;
  },
];

it(`${ABORTS} aborts at any moment leave the pool whole, the sessions idle and no row (seed ${SEED})`, async () => {
  const next = random(SEED);
  let started = 0;
  const ends = new Map<unknown, number>();
  const lane = async () => {
    while (started < ABORTS) {
      const kind = KINDS[started++ % KINDS.length]!;
      const abort = new AbortController();
      const work = kind(abort.signal).then(() => 'done', codeOf);
      await pause(Math.floor(next() * 12));
      abort.abort();
      const end = await work;
      ends.set(end, (ends.get(end) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, lane));
  expect(started).toBe(ABORTS);
  expect(Object.fromEntries(ends)).toEqual({ aborted: ABORTS });
  await waitFor(async () => db.shard.stats().active === 0 && db.shard.stats().waiting === 0, {
    what: 'the connections to come back',
  });
  const { max, idle } = db.shard.stats();
  expect(max).toBe(4);
  expect(idle).toBeLessThanOrEqual(4);
  const busy = await place.query(
    0,
    `select count(*)::int as n from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`,
  );
  expect(busy).toEqual([{ n: 0 }]);
  expect(await db.getRepository(Note).count()).toBe(0);
}, 60_000);
