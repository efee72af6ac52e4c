import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { scatterRepository, type CrossShardRepository, type ScatterSettings } from '@app/sharding';
import { Sample, bootSamples, insertRows, sampleDatabase, type Samples } from './samples.js';

let samples: Samples;

beforeAll(async () => {
  samples = await bootSamples([await sampleDatabase('refusal0'), await sampleDatabase('refusal1')]);
  for (const [shard, url] of samples.urls.entries()) {
    await insertRows(
      url,
      'samples',
      ['a', 'b'].map((tenant, n) => ({ id: String(2 * n + shard), tenant_id: tenant, big: '1' })),
    );
  }
});

afterAll(() => samples.app.close());

const repository = (options: ScatterSettings = {}) =>
  scatterRepository(Sample, { shards: samples.shards, options });
const untouched = () => samples.shards.all().map((shard) => shard.stats().active + shard.stats().idle);

it.each([
  'save',
  'insert',
  'update',
  'delete',
  'remove',
  'softDelete',
  'softRemove',
  'restore',
  'recover',
  'upsert',
  'increment',
  'decrement',
  'clear',
  'updateAll',
  'deleteAll',
])('%s does not exist, and is refused before a connection is taken', async (name) => {
  const fresh = await bootSamples(samples.urls);
  const repo = scatterRepository(Sample, { shards: fresh.shards }) as unknown as Record<
    string,
    (...args: unknown[]) => Promise<unknown>
  >;
  await expect(repo[name]!({ id: '1' }, { body: 'x' })).rejects.toMatchObject({
    code: 'cross_shard_write',
    status: 400,
  });
  expect(fresh.shards.all().map((shard) => shard.database.opened)).toEqual([undefined, undefined]);
  await fresh.app.close();
});

it('has types without the names of writes', () => {
  const repo: CrossShardRepository<Sample> = repository();
  // @ts-expect-error there is no such method
  void repo.save;
  // @ts-expect-error a stream is of all shards
  void (() => repo.stream({ shards: 'partial' }));
  // @ts-expect-error one or the other
  void (() => repo.find({ shards: 'partial', quorum: 1 }));
});

it.each<[string, (repo: CrossShardRepository<Sample>) => Promise<unknown>]>([
  ['find', (repo) => repo.find()],
  ['count', (repo) => repo.count()],
  ['groupBy', (repo) => repo.groupBy([], { n: { count: '*' } })],
  ['page', (repo) => repo.page({})],
  ['stream', (repo) => repo.stream().next()],
])(
  '%s is refused inside a tx, with scatter = deny, and for options that do not exist',
  async (_name, ask) => {
    const before = untouched();
    await expect(ask(repository({ scatter: 'deny' }))).rejects.toMatchObject({
      code: 'scatter_denied',
      status: 403,
    });
    expect(untouched()).toEqual(before);
    const db = await samples.shards.dbOn('shard0');
    await db.tx(async () => {
      await expect(ask(repository())).rejects.toMatchObject({ code: 'cross_shard_transaction' });
    });
  },
);

it.each([
  { width: 0 },
  { quorum: 3 },
  { quorum: 0 },
  { shards: 'most' },
  { shards: 'partial', quorum: 1 },
  { deadlineMs: 0.5 },
])('refuses %j', async (options) => {
  await expect(repository().find(options as never)).rejects.toMatchObject({ code: 'invalid_options' });
});

it('tells an observer of each scatter: caller, shards, rows, duration', async () => {
  const events: unknown[] = [];
  const repo = repository({ observe: (event) => events.push(event), scatter: 'warn' });
  await repo.find({ take: 3 });
  await repo.find({ order: { meta: 'ASC' } } as never).catch(() => undefined);
  for await (const row of repo.stream()) if (row) break;
  const common = {
    entity: 'Sample',
    shards: 2,
    missing: [],
    ms: expect.any(Number),
    callSite: expect.stringMatching(/^scatter\/refusals\.spec\.ts:\d+$/),
  };
  expect(events).toEqual([
    { ...common, method: 'find', rows: 3 },
    { ...common, method: 'find', rows: 0, failure: 'cross_shard_unsupported' },
    { ...common, method: 'stream', rows: 1 },
  ]);
});

it('leaves out rows that a shard holds and does not own, everywhere', async () => {
  const repo = repository({
    ownedBy: ({ name }, alias) =>
      name === 'shard1'
        ? { where: `${alias}.tenantId not in (:...moving)`, parameters: { moving: ['b'] } }
        : undefined,
  });
  const owned = ['0', '1', '2'];
  const ids = (rows: readonly Sample[]) => rows.map(({ id }) => id);
  expect(ids(await repo.find({ where: [{ tenantId: 'a' }, { tenantId: 'b' }] }))).toEqual(owned);
  expect(ids((await repo.page({ take: 9 })).rows)).toEqual(owned);
  const streamed: Sample[] = [];
  for await (const row of repo.stream({ relations: { tags: true } })) streamed.push(row);
  expect(ids(streamed)).toEqual(owned);
  expect(await repo.count()).toBe(3);
  expect(await repo.existsBy({ id: '3' })).toBe(false);
  expect(await repo.findOneBy({ id: '3' })).toBeNull();
  expect(await repo.sum('big')).toBe('3');
  expect(await repo.countDistinct('id')).toBe(3);
  expect(await repo.groupBy(['tenantId'], { n: { count: '*' } })).toEqual([
    { tenantId: 'a', n: 2 },
    { tenantId: 'b', n: 1 },
  ]);
  expect((await repo.explain()).shards[1]!.sql).toContain('"Sample"."tenant_id" not in ($1)');
});
