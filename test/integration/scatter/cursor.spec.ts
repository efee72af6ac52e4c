import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { scatterRepository, type CrossShardRepository } from '@app/sharding';
import { Sample, bootSamples, insertRows, sampleDatabase, type Samples } from './samples.js';

const SECRET = 'a secret of the tests, long enough';
const options = { cursorSecret: SECRET };

let samples: Samples;
let repo: CrossShardRepository<Sample>;

beforeAll(async () => {
  samples = await bootSamples([await sampleDatabase('cursor0'), await sampleDatabase('cursor1')]);
  repo = scatterRepository(Sample, { shards: samples.shards, options });
});

beforeEach(async () => {
  for (const [shard, url] of samples.urls.entries()) {
    await samples.query(shard, 'truncate samples');
    const rows = Array.from({ length: 20 }, (_, n) => ({
      id: String(10 * (2 * n + shard)),
      tenant_id: 't',
      body: n % 5 === 0 ? null : `b${n % 3}`,
    }));
    await insertRows(url, 'samples', rows);
  }
});

afterAll(() => samples.app.close());

const page = (after: string | null | undefined, more: object = {}) =>
  repo.page({ order: { body: 'DESC' }, take: 7, after, ...more });

it('is taken by every process with the same secret, and by no other', async () => {
  const { next } = await page(undefined);
  const again = scatterRepository(Sample, { shards: samples.shards, options });
  await expect(again.page({ order: { body: 'DESC' }, take: 7, after: next })).resolves.toHaveProperty(
    'rows.length',
    7,
  );
  for (const settings of [{ cursorSecret: 'another secret' }, {}]) {
    const other = scatterRepository(Sample, { shards: samples.shards, options: settings });
    await expect(other.page({ order: { body: 'DESC' }, after: next })).rejects.toMatchObject({
      code: 'invalid_cursor',
      status: 400,
    });
  }
});

it('without a secret works across repositories of one process', async () => {
  const [one, other] = [1, 2].map(() => scatterRepository(Sample, { shards: samples.shards }));
  const { next } = await one!.page({ take: 3 });
  await expect(other!.page({ take: 3, after: next })).resolves.toHaveProperty('rows.length', 3);
});

it('is refused when a single character of it is changed, or it is garbled', async () => {
  const { next } = await page(undefined);
  const garbled = Array.from(
    next!,
    (char, at) => `${next!.slice(0, at)}${char === 'A' ? 'B' : 'A'}${next!.slice(at + 1)}`,
  );
  const forged = [
    ...garbled,
    '',
    'v1',
    `${next}x`,
    next!.slice(1),
    `${next}=`,
    'v1..',
    ' ',
    'null',
    { toString: () => next },
    7,
    [next],
  ];
  for (const after of forged) {
    if (after === next) continue;
    await expect(page(after as string)).rejects.toMatchObject({ code: 'invalid_cursor' });
  }
});

it.each([
  ['order', { order: { body: 'ASC' } }],
  ['columns of the order', { order: { body: 'DESC', id: 'DESC' } }],
  ['where', { where: { tenantId: 't' } }],
  ['withDeleted', { withDeleted: true }],
])('is refused for another %s', async (_name, other) => {
  const { next } = await page(undefined);
  await expect(page(next, other)).rejects.toMatchObject({ code: 'invalid_cursor' });
});

it('tells equal wheres by their content', async () => {
  const where = () => ({ tenantId: 't', body: 'b1' });
  const { next } = await page(undefined, { where: where(), take: 2 });
  await expect(page(next, { where: { body: 'b1', tenantId: 't' }, take: 3 })).resolves.toHaveProperty(
    'rows.length',
    3,
  );
  await expect(page(next, { where: { ...where(), body: 'b2' } })).rejects.toMatchObject({
    code: 'invalid_cursor',
  });
});

it('is refused by another topology', async () => {
  const { next } = await page(undefined);
  const single = await bootSamples(samples.urls.slice(0, 1));
  const other = scatterRepository(Sample, { shards: single.shards, options });
  await expect(other.page({ order: { body: 'DESC' }, after: next })).rejects.toMatchObject({
    code: 'invalid_cursor',
  });
  await single.app.close();
});

it('neither skips nor repeats a row that stays, whatever is inserted and deleted meanwhile', async () => {
  const stable = new Set((await repo.find()).map(({ id }) => id));
  const seen: string[] = [];
  let made = 0;
  for (let after: string | null | undefined; after !== null;) {
    const { rows, next } = await page(after, { take: 3 });
    seen.push(...rows.map(({ id }) => id));
    after = next;
    const shard = made % 2;
    const last = rows.at(-1)!;
    if (!last) break;
    await samples.query(shard, `delete from samples where tenant_id = 'passing' and id % 3 = 0`);
    for (const body of [null, 'b0', 'b1', 'zz', last.body]) {
      await insertRows(samples.urls[shard]!, 'samples', [
        { id: String(1001 + 7 * made++), tenant_id: 'passing', body },
      ]);
    }
    if (made > 60) await samples.query(shard, `delete from samples where tenant_id = 'passing'`);
    if (made > 500) break;
  }
  const kept = seen.filter((id) => stable.has(id));
  expect(kept.toSorted()).toEqual([...stable].toSorted());
  expect(new Set(seen).size).toBe(seen.length);
});

it('goes on behind a row that was deleted', async () => {
  const all = (await repo.find({ order: { body: 'DESC' } })).map(({ id }) => id);
  const { rows, next } = await page(undefined);
  for (const shard of [0, 1])
    await samples.query(shard, 'delete from samples where id = $1', [rows.at(-1)!.id]);
  expect((await page(next)).rows.map(({ id }) => id)).toEqual(all.slice(7, 14));
});

it('tells apart rows with the same keys on two shards', async () => {
  for (const shard of [0, 1]) {
    await samples.query(shard, 'truncate samples');
    await insertRows(
      samples.urls[shard]!,
      'samples',
      ['1', '2'].map((id) => ({ id, tenant_id: `shard${shard}`, body: 'x' })),
    );
  }
  const seen: string[] = [];
  for (let after: string | null | undefined; after !== null;) {
    const { rows, next } = await page(after, { take: 1 });
    seen.push(...rows.map(({ id, tenantId }) => `${id} ${tenantId}`));
    after = next;
  }
  expect(seen).toEqual(['1 shard0', '1 shard1', '2 shard0', '2 shard1']);
});
