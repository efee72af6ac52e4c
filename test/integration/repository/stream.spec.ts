import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MoreThan } from 'typeorm';
import { expectNoConnections } from '@test/support';
import { Page, PageRepository, library, type Library } from './library.js';

const ROWS = 2500;

let place: Library;
let pages: PageRepository;

beforeAll(async () => {
  place = await library(1);
  pages = place.app.get(PageRepository);
  await place.query(`insert into pages (tenant_id, slug, views)
    select case when n % 2 = 0 then 'acme' else 'globex' end, 'page ' || n, n from generate_series(1, ${2 * ROWS}) n`);
});
afterAll(async () => {
  await place.app.close();
  for (const url of place.urls) await expectNoConnections(url);
});

async function seen(options: Parameters<PageRepository['stream']>[0]): Promise<Page[]> {
  const rows: Page[] = [];
  for await (const page of pages.for('acme').stream(options)) rows.push(page);
  return rows;
}

it.each([1000, ROWS, ROWS + 1, 7])(
  'gives every own row once, in order, by batches of %i',
  async (batchSize) => {
    const rows = await seen({ batchSize });
    expect(rows).toHaveLength(ROWS);
    expect(rows.every(({ tenantId }) => tenantId === 'acme')).toBe(true);
    expect(rows.map(({ views }) => views)).toEqual(
      Array.from({ length: ROWS }, (_none, index) => 2 * index + 2),
    );
  },
);

it('keeps to its conditions, also to several', async () => {
  const rows = await seen({ where: [{ views: MoreThan(2 * ROWS - 10) }, { slug: 'page 2' }], batchSize: 2 });
  expect(rows.map(({ views }) => views)).toEqual([2, 4992, 4994, 4996, 4998, 5000]);
});

it('holds no connection while its consumer works, and none after a break', async () => {
  let count = 0;
  for await (const page of pages.for('acme').stream({ batchSize: 10 })) {
    expect(place.shards.named('shard0').stats().active).toBe(0);
    expect(page).toBeInstanceOf(Page);
    if (++count === 25) break;
  }
  expect(place.shards.named('shard0').stats().active).toBe(0);
});

it('neither skips nor repeats a row that stays while others come and go', async () => {
  const views: number[] = [];
  let round = 0;
  for await (const page of pages.for('acme').stream({ batchSize: 50 })) {
    views.push(page.views);
    if (++round % 100 !== 0) continue;
    await pages.for('acme').insert({ slug: `new ${round}`, views: -1 });
    await place.query(`update pages set title = 'touched' where views = $1`, [page.views]);
  }
  const stable = views.filter((value) => value > 0);
  expect(stable).toEqual(Array.from({ length: ROWS }, (_none, index) => 2 * index + 2));
  await place.query('delete from pages where views = -1');
});

it.each([0, -1, 1.5])('refuses batches of %p', async (batchSize) => {
  await expect(seen({ batchSize })).rejects.toMatchObject({ code: 'invalid_options' });
});
