import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Shards } from '@app/sharding';
import { TestCluster, expectNoConnections, waitFor } from '@test/support';
import { Reindex } from '../../apps/bookmarks/src/reindex.js';
import { bookmarksOptions, bootBookmarks, call } from '../support/bookmarks.js';
import type { RunningBookmarks } from '../support/bookmarks.js';

let urls: { control: string; shards: string[] };
let bookmarks: RunningBookmarks;

beforeAll(async () => {
  const cluster = TestCluster.attach();
  const [control = '', ...shards] = await Promise.all(
    ['control', 'shard0', 'shard1'].map((label) => cluster.createDatabase({ label })),
  );
  urls = { control, shards };
  bookmarks = await bootBookmarks(bookmarksOptions(urls), 'yes', 'on');
}, 60_000);

afterAll(async () => {
  await bookmarks.app.close();
  for (const url of [urls.control, ...urls.shards]) await expectNoConnections(url);
});

const save = (tenant: string, tag: string) =>
  call(`${bookmarks.url}/api/bookmarks`, { tenant, json: { url: 'https://nestjs.com', title: 'Nest', tag } });

const tags = async (tenant: string) => (await call(`${bookmarks.url}/api/tags`, { tenant })).body;

const untilTags = (tenant: string, wanted: object) =>
  waitFor(async () => JSON.stringify(await tags(tenant)) === JSON.stringify(wanted), {
    what: `the tags of ${tenant}`,
    timeoutMs: 20_000,
  });

it('counts the tags of one tenant when it asks, and of every tenant at night', async () => {
  for (const tag of ['news', 'news', 'docs']) await save('acme', tag);
  await save('globex', 'news');
  expect(await tags('acme')).toEqual({});
  const asked = await fetch(`${bookmarks.url}/api/tags/reindex`, {
    method: 'POST',
    headers: { 'x-tenant-id': 'acme' },
  });
  expect(asked.status).toBe(202);
  await untilTags('acme', { news: 2, docs: 1 });
  expect(await tags('globex')).toEqual({});
  await save('acme', 'docs');
  await save('acme', 'docs');
  await bookmarks.app.get(Reindex).nightly();
  await untilTags('globex', { news: 1 });
  await untilTags('acme', { docs: 3, news: 2 });
  const places = bookmarks.app
    .get(Shards)
    .all()
    .map(({ name }) => name);
  expect(places).toEqual(['shard0', 'shard1']);
});

it('saves a bookmark once, however often a client repeats the request', async () => {
  const post = () =>
    fetch(`${bookmarks.url}/api/bookmarks`, {
      method: 'POST',
      headers: { 'x-tenant-id': 'once', 'idempotency-key': 'a-key', 'content-type': 'application/json' },
      body: JSON.stringify({ url: 'https://nestjs.com', title: 'Nest' }),
    });
  const [first, second] = [await post(), await post()];
  expect([first.status, second.status, second.headers.get('idempotent-replayed')]).toEqual([
    201,
    201,
    'true',
  ]);
  expect(await second.json()).toEqual(await first.json());
  const { body } = await call(`${bookmarks.url}/api/bookmarks`, { tenant: 'once' });
  expect((body as { bookmarks: unknown[] }).bookmarks).toHaveLength(1);
});
