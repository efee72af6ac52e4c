import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { In, IsNull, MoreThan, Not } from 'typeorm';
import { scatterRepository, type CrossShardRepository } from '@app/sharding';
import { Sample, Tag, bootSamples, insertRows, sampleDatabase, type Samples } from './samples.js';

let samples: Samples;
let repo: CrossShardRepository<Sample>;

beforeAll(async () => {
  samples = await bootSamples([await sampleDatabase('find0'), await sampleDatabase('find1')]);
  repo = scatterRepository(Sample, { shards: samples.shards });
});

beforeEach(() => Promise.all([0, 1].map((shard) => samples.query(shard, 'truncate samples, tags, authors'))));

afterAll(() => samples.app.close());

const put = (shard: number, ...rows: Record<string, string | null>[]) =>
  insertRows(
    samples.urls[shard]!,
    'samples',
    rows.map((row) => ({ tenant_id: 't', ...row })),
  );

it('orders rows that are equal in everything else by the shard', async () => {
  await put(1, { id: '7', body: 'x' });
  await put(0, { id: '7', body: 'x' });
  const rows = await repo.find({ order: { body: 'ASC' } });
  await samples.query(1, `update samples set tenant_id = 'second'`);
  expect(rows.map(({ id }) => id)).toEqual(['7', '7']);
  expect((await repo.find({ order: { body: 'ASC' } })).map(({ tenantId }) => tenantId)).toEqual([
    't',
    'second',
  ]);
});

it('pushes skip and take down as one limit', async () => {
  const { entity, shards, merge } = await repo.explain({
    order: { big: 'DESC' },
    skip: 3,
    take: 4,
    select: { id: true },
  });
  expect(entity).toBe('Sample');
  const sql = `SELECT "Sample"."id" AS "Sample_id", ("Sample"."big")::text AS "scatter_k0", ("Sample"."id")::text AS "scatter_k1" FROM "samples" "Sample" ORDER BY "Sample"."big" DESC, "Sample"."id" ASC LIMIT 7`;
  expect(shards).toEqual([
    { shard: 'shard0', sql },
    { shard: 'shard1', sql },
  ]);
  expect(merge).toEqual([
    'merge the sorted rows of the shards by "Sample"."big" desc nulls first, "Sample"."id" asc nulls last, shard',
    'leave out the first 3',
    'take 4',
  ]);
});

it('selects columns without the primary key, also where all of them are null', async () => {
  await put(0, { id: '1', body: null });
  await put(1, { id: '2', body: 'b' });
  expect(await repo.find({ select: { body: true }, order: { id: 'ASC' } })).toEqual([
    { body: null },
    { body: 'b' },
  ]);
});

it('finds by relations with many rows each row once, and loads them in order', async () => {
  await put(0, { id: '1' }, { id: '3' });
  await put(1, { id: '2' }, { id: '4' });
  await insertRows(
    samples.urls[0]!,
    'tags',
    ['x', 'y'].map((name) => ({ sample_id: '1', name })),
  );
  await insertRows(
    samples.urls[1]!,
    'tags',
    ['x', 'y'].map((name) => ({ sample_id: '4', name })),
  );
  const found = await repo.find({
    where: { tags: { name: In(['x', 'y']) } },
    relations: { tags: true },
    order: { id: 'DESC' },
    take: 2,
  });
  expect(found.map(({ id, tags }) => [id, tags.map(({ name }) => name)])).toEqual([
    ['4', ['x', 'y']],
    ['1', ['x', 'y']],
  ]);
  expect(await repo.count({ where: { tags: { name: Not('z') } } })).toBe(2);
  expect(await scatterRepository(Tag, { shards: samples.shards }).count()).toBe(4);
});

it('counts and sums beyond what a double holds', async () => {
  await put(0, { id: '1', big: '9223372036854775807', amount: '0.1' });
  await put(1, { id: '2', big: '9223372036854775807', amount: '123456789012345678901234567890' });
  expect(await repo.sum('big')).toBe('18446744073709551614');
  expect(await repo.sum('amount')).toBe('123456789012345678901234567890.1');
  expect(await repo.average('big')).toBe('9223372036854775807');
});

it('gives null for the aggregates of nothing, and one group where there are no columns', async () => {
  expect([await repo.sum('big'), await repo.average('big'), await repo.minimum('body')]).toEqual([
    null,
    null,
    null,
  ]);
  expect([await repo.count(), await repo.exists(), await repo.countDistinct('body')]).toEqual([0, false, 0]);
  expect(await repo.groupBy([], { n: { count: '*' }, most: { maximum: 'big' } })).toEqual([
    { n: 0, most: null },
  ]);
  expect(await repo.groupBy(['body'], { n: { count: '*' } })).toEqual([]);
  expect([await repo.find(), await repo.findOneBy({ id: '1' })]).toEqual([[], null]);
  expect(await repo.page({ take: 5 })).toEqual({ rows: [], next: null });
});

it('gives the value types that it documents', async () => {
  await put(1, {
    id: '1',
    small: '1',
    whole: '2',
    big: '3',
    amount: '4.50',
    ratio: '0.5',
    flag: 'true',
    bytes: '\\x00ff',
    seen_at: '2024-02-29 12:00:00.000001',
    made_at: '2024-02-29 12:00:00.5+02',
    day: '2024-02-29',
    clock: '24:00',
    mood: 'ok',
    token: 'A0EEBC99-9c0b-4ef8-bb6d-6bb9bd380a11',
  });
  const columns = [
    'small',
    'whole',
    'big',
    'amount',
    'ratio',
    'flag',
    'bytes',
    'seenAt',
    'madeAt',
    'day',
    'clock',
    'mood',
    'token',
  ] as const;
  const values = [];
  for (const column of columns) values.push(await repo.maximum(column));
  expect(values).toEqual([
    1,
    2,
    '3',
    '4.50',
    0.5,
    true,
    Buffer.from([0, 255]),
    '2024-02-29 12:00:00.000001',
    '2024-02-29 10:00:00.5+00',
    '2024-02-29',
    '24:00:00',
    'ok',
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11',
  ]);
});

it.each(['meta', 'span', 'list', 'address'] as const)(
  'refuses to order, group and compare by %s',
  async (column) => {
    const type = { meta: 'jsonb', span: 'interval', list: 'integer[]', address: 'inet' }[column];
    const refusal = {
      code: 'cross_shard_unsupported',
      message: expect.stringContaining(`Sample.${column} is of type ${type}`),
    };
    await expect(repo.find({ order: { [column]: 'ASC' } })).rejects.toMatchObject(refusal);
    await expect(repo.minimum(column)).rejects.toMatchObject(refusal);
    await expect(repo.countDistinct(column)).rejects.toMatchObject(refusal);
    await expect(repo.groupBy([column], { n: { count: '*' } })).rejects.toMatchObject(refusal);
  },
);

it('refuses what has no meaning or no bound', async () => {
  const unsupported = { code: 'cross_shard_unsupported' };
  await expect(repo.sum('body')).rejects.toMatchObject(unsupported);
  await expect(repo.find({ order: { tags: { name: 'ASC' } } })).rejects.toMatchObject(unsupported);
  await expect(repo.find({ skip: 10_001 })).rejects.toMatchObject({
    ...unsupported,
    message: expect.stringContaining('page({'),
  });
  await expect(repo.find({ skip: 10_000, take: 1 })).resolves.toEqual([]);
  await expect(repo.find({ take: -1 })).rejects.toMatchObject({ code: 'invalid_options' });
  await expect(repo.find({ lock: { mode: 'pessimistic_write' } } as never)).rejects.toMatchObject({
    code: 'invalid_options',
  });
  await samples.query(
    0,
    'insert into samples (id, tenant_id, big) select n, $1, n from generate_series(1, 100001) n',
    ['t'],
  );
  await expect(repo.groupBy(['big'], { n: { count: '*' } })).rejects.toMatchObject(unsupported);
  await expect(repo.countDistinct('big')).rejects.toMatchObject(unsupported);
});

it.each([
  ['find', () => repo.find({ where: { body: undefined } as never })],
  ['findBy', () => repo.findBy(undefined as never)],
  ['countBy', () => repo.countBy({ body: null } as never)],
  ['existsBy', () => repo.existsBy([{ id: '1' }, { author: { name: undefined } }] as never)],
  ['sum', () => repo.sum('big', { big: MoreThan(undefined as never) })],
  ['page', () => repo.page({ where: { big: Not(In(['1', null])) } as never })],
])('%s throws for undefined and null in where', async (_name, ask) => {
  await expect(ask()).rejects.toMatchObject({ code: 'invalid_options' });
});

it('compares having exactly, after the merge', async () => {
  await put(0, { id: '1', body: 'a', amount: '9007199254740993' }, { id: '2', body: 'b', amount: '1' });
  await put(1, { id: '3', body: 'a', amount: '0.5' }, { id: '4', body: 'c', amount: null });
  const totals = { total: { sum: 'amount' }, n: { count: '*' } } as const;
  const having = (condition: object) =>
    repo.groupBy(['body'], totals, { having: condition, order: { body: 'ASC' } });
  expect(await having({ total: MoreThan('9007199254740993.4') })).toEqual([
    { body: 'a', total: '9007199254740993.5', n: 2 },
  ]);
  expect(await having({ total: IsNull() })).toEqual([{ body: 'c', total: null, n: 1 }]);
  expect(await having({ total: Not(1) })).toEqual([{ body: 'a', total: '9007199254740993.5', n: 2 }]);
  expect(await repo.groupBy(['body'], totals, { having: ({ n }) => n === 2 })).toHaveLength(1);
  await expect(repo.groupBy(['body'], totals, { order: { other: 'ASC' } as never })).rejects.toMatchObject({
    code: 'invalid_options',
  });
});

it('orders by an enum only where it is the same on all shards, and learns new labels', async () => {
  await put(0, { id: '1', mood: 'happy' });
  await put(1, { id: '2', mood: 'sad' });
  const moods = async () => (await repo.find({ order: { mood: 'ASC' } })).map(({ mood }) => mood);
  expect(await moods()).toEqual(['sad', 'happy']);
  await samples.query(0, `alter type mood add value 'awful' before 'sad'`);
  await put(0, { id: '3', mood: 'awful' });
  await expect(moods()).rejects.toMatchObject({
    code: 'cross_shard_unsupported',
    message: expect.stringContaining('mood'),
  });
  await samples.query(1, `alter type mood add value 'awful' before 'sad'`);
  await put(1, { id: '4', mood: 'awful' });
  expect(await moods()).toEqual(['awful', 'awful', 'sad', 'happy']);
  expect(await repo.minimum('mood')).toBe('awful');
});
