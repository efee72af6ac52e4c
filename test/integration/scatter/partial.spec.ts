import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { freePort, waitFor } from '@test/support';
import { scatterRepository, type CrossShardRepository } from '@app/sharding';
import { Sample, bootSamples, insertRows, sampleDatabase, type Samples } from './samples.js';

/** shard0 and shard3 live, shard1 and shard2 have no server. */
let samples: Samples;
let repo: CrossShardRepository<Sample>;

beforeAll(async () => {
  const port = await freePort();
  const dead = [1, 2].map((shard) => `postgres://nobody:secret@127.0.0.1:${port}/none${shard}`);
  const urls = [await sampleDatabase('partial0'), ...dead, await sampleDatabase('partial3')];
  samples = await bootSamples(urls);
  repo = scatterRepository(Sample, { shards: samples.shards });
  for (const shard of [0, 3]) {
    const rows = [0, 1, 2].map((n) => ({ id: String(10 * n + shard), tenant_id: 't', big: '1' }));
    await insertRows(urls[shard]!, 'samples', rows);
    await insertRows(
      urls[shard]!,
      'tags',
      rows.map(({ id }) => ({ sample_id: id, name: 'x' })),
    );
  }
});

afterAll(() => samples.app.close());

const missing = [
  { shard: 'shard1', code: 'shard_unavailable' },
  { shard: 'shard2', code: 'shard_unavailable' },
];
const partial = { shards: 'partial' } as const;

it.each<[string, () => Promise<unknown>]>([
  ['find', () => repo.find()],
  ['count', () => repo.count({ width: 1 })],
  ['groupBy', () => repo.groupBy(['tenantId'], { n: { count: '*' } })],
  ['page', () => repo.page({})],
  ['stream', () => repo.stream().next()],
  ['a quorum of three', () => repo.find({ quorum: 3 })],
])('%s is all or nothing, and the first failure by declaration order is the error', async (_name, ask) => {
  await expect(ask()).rejects.toMatchObject({
    code: 'shard_unavailable',
    message: expect.stringContaining('shard "shard1"'),
  });
});

it('gives what the living shards have, and names the others', async () => {
  const { rows, ...rest } = await repo.find({
    ...partial,
    order: { id: 'DESC' },
    take: 4,
    relations: { tags: true },
  });
  expect(rows.map(({ id, tags }) => [id, tags.length])).toEqual([
    ['23', 1],
    ['20', 1],
    ['13', 1],
    ['10', 1],
  ]);
  expect(rest).toEqual({ missing });
  expect(await repo.count(partial)).toEqual({ value: 6, missing });
  expect(await repo.countBy({ tenantId: 'x' }, { quorum: 2 })).toEqual({ value: 0, missing });
  expect(await repo.sum('big', undefined, partial)).toEqual({ value: '6', missing });
  expect(await repo.average('big', undefined, partial)).toEqual({ value: '1.00000000000000000000', missing });
  expect(await repo.exists(partial)).toEqual({ value: true, missing });
  expect(await repo.groupBy(['tenantId'], { n: { count: '*' } }, partial)).toEqual({
    rows: [{ tenantId: 't', n: 6 }],
    missing,
  });
  expect(await repo.findOneBy({ id: '3' }, partial)).toMatchObject({ value: { id: '3' }, missing });
  const page = await repo.page({ ...partial, take: 5 });
  expect([page.rows.length, page.missing]).toEqual([5, missing]);
  expect((await repo.page({ ...partial, take: 5, after: page.next })).rows.map(({ id }) => id)).toEqual([
    '23',
  ]);
});

it('puts up with no mistake of the query', async () => {
  await expect(repo.find({ ...partial, order: { meta: 'ASC' } } as never)).rejects.toMatchObject({
    code: 'cross_shard_unsupported',
  });
  await expect(repo.findBy({ big: 'no number' }, partial)).rejects.toMatchObject({
    name: 'QueryFailedError',
    shard: 'shard0',
  });
  await expect(repo.find({ ...partial, signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: 'aborted',
  });
});

it('names a shard that is late, and cancels what it runs', async () => {
  const blocker = new pg.Client({ connectionString: samples.urls[3]! });
  await blocker.connect();
  await blocker.query('begin; lock table samples');
  const { rows, missing: late } = await repo.find({ ...partial, deadlineMs: 1500 });
  expect([rows.length, late]).toEqual([3, [...missing, { shard: 'shard3', code: 'deadline_exceeded' }]]);
  const abort = new AbortController();
  const asked = repo.findBy({ tenantId: 't' }, { ...partial, signal: abort.signal });
  setTimeout(() => abort.abort(), 100);
  await expect(asked).rejects.toMatchObject({ code: 'aborted' });
  const waiting = async () =>
    (
      await samples.query(
        3,
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
    ).length === 0;
  await waitFor(waiting, { what: 'the statements to be cancelled' });
  await blocker.end();
  await waitFor(async () => samples.shards.named('shard3').stats().active === 0, {
    what: 'the pool to be idle',
  });
});

it('does not wait for shards that cannot decide the error any more', async () => {
  const blocker = new pg.Client({ connectionString: samples.urls[3]! });
  await blocker.connect();
  await blocker.query('begin; lock table samples');
  const startedAt = performance.now();
  await expect(repo.find({ deadlineMs: 20_000 })).rejects.toMatchObject({
    message: expect.stringContaining('shard "shard1"'),
  });
  expect(performance.now() - startedAt).toBeLessThan(10_000);
  await blocker.end();
});
