import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent, request } from 'node:http';
import { TestCluster, expectNoConnections } from '@test/support';
import { bookmarksOptions, bootBookmarks, call, type RunningBookmarks } from '../support/bookmarks.js';

let urls: { control: string; shards: string[] };
let service: RunningBookmarks;

beforeAll(async () => {
  const cluster = TestCluster.attach();
  const create = (label: string) => cluster.createDatabase({ label });
  urls = { control: await create('control'), shards: [await create('shard0'), await create('shard1')] };
  service = await bootBookmarks(bookmarksOptions(urls));
});

afterAll(async () => {
  await service.app.close();
  for (const url of [urls.control, ...urls.shards]) await expectNoConnections(url);
});

const bookmarks = () => `${service.url}/api/bookmarks`;
const link = (title: string) => ({ url: 'https://example.com/a', title });

describe('bookmarks', () => {
  it('are created on the shard of the tenant and listed newest first', async () => {
    const created = await call(bookmarks(), { tenant: 'acme', json: { ...link('first'), tag: 'db' } });
    expect(created).toMatchObject({
      status: 201,
      body: {
        id: expect.stringMatching(/^\d+$/),
        tenantId: 'acme',
        url: 'https://example.com/a',
        title: 'first',
        tag: 'db',
      },
    });
    await call(bookmarks(), { tenant: 'acme', json: link('second') });
    await call(bookmarks(), { tenant: 'globex', json: link('other') });
    const titles = async (tenant: string) => {
      const { body } = await call(bookmarks(), { tenant });
      const { shard, bookmarks: rows } = body as { shard: string; bookmarks: { title: string }[] };
      return [shard, ...rows.map(({ title }) => title)];
    };
    expect(await titles('acme')).toEqual(['shard0', 'second', 'first']);
    expect(await titles('globex')).toEqual(['shard1', 'other']);
    expect(await titles('hooli')).toEqual(['shard0']); // the same shard as acme, and nothing of acme's
    expect(await call(`${service.url}/api/stats`)).toMatchObject({
      status: 200,
      body: { shard0: { slots: 8192, bookmarks: 2 }, shard1: { slots: 8192, bookmarks: 1 } },
    });
  });

  it.each([
    [{ url: 'nonsense', title: 'a' }],
    [{ url: 'https://a.com', title: '' }],
    [{ url: 'https://a.com', title: 'a'.repeat(201) }],
    [{ url: 'https://a.com', title: 'a\0b' }],
    [{ url: 'https://a.com', title: '\ud800' }],
    [{ url: 'https://a.com', title: 7 }],
    [{ url: 'https://a.com', title: 'a', tenantId: 'globex' }],
    [{}],
  ])('that are not well formed are refused: %j', async (json) => {
    expect(await call(bookmarks(), { tenant: 'acme', json })).toMatchObject({ status: 400 });
  });

  it('without a tenant are refused', async () => {
    expect(await call(bookmarks())).toMatchObject({
      status: 400,
      body: {
        statusCode: 400,
        code: 'no_routing_key',
        message: 'the request names no tenant: send the x-tenant-id header',
      },
    });
  });
});

it('describes itself at /docs-json', async () => {
  const { body } = await call(`${service.url}/docs-json`);
  const { paths } = body as { paths: object };
  expect(Object.keys(paths)).toEqual(expect.arrayContaining(['/api/bookmarks', '/api/stats']));
});

/** The shard of each tenant by the contract; both shards appear. */
const TENANTS = Array.from({ length: 20 }, (_none, index) => `tenant-${index}`);

describe('interleaved requests (C13)', () => {
  it('answer A, then B, then A again', async () => {
    const shards: string[] = [];
    for (const tenant of ['acme', 'globex', 'acme']) {
      shards.push(((await call(bookmarks(), { tenant })).body as { shard: string }).shard);
    }
    expect(shards).toEqual(['shard0', 'shard1', 'shard0']);
  });

  it('of two keep-alive clients, 1,000 over 20 tenants, never mix', async () => {
    for (const tenant of TENANTS) await call(bookmarks(), { tenant, json: link(`of ${tenant}`) });
    const clients = [1, 2].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
    const answers = await Promise.all(
      Array.from({ length: 1000 }, async (_none, index) => {
        const tenant = TENANTS[(index * 7) % TENANTS.length]!;
        return { tenant, answer: await get(clients[index % 2]!, tenant) };
      }),
    );
    const shards = new Map<string, Set<string>>();
    for (const { tenant, answer } of answers) {
      expect(answer.bookmarks.map(({ tenantId, title }) => [tenantId, title])).toEqual([
        [tenant, `of ${tenant}`],
      ]);
      shards.set(tenant, (shards.get(tenant) ?? new Set()).add(answer.shard));
    }
    expect([...shards.values()].every((names) => names.size === 1)).toBe(true);
    expect(new Set([...shards.values()].flatMap((names) => [...names]))).toEqual(
      new Set(['shard0', 'shard1']),
    );
    for (const client of clients) client.destroy();
  });
});

interface Page {
  shard: string;
  bookmarks: { tenantId: string; title: string }[];
}

function get(agent: Agent, tenant: string): Promise<Page> {
  return new Promise((resolve, reject) => {
    const sent = request(bookmarks(), { agent, headers: { 'x-tenant-id': tenant } }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => resolve(JSON.parse(Buffer.concat(parts).toString()) as Page));
    });
    sent.on('error', reject);
    sent.end();
  });
}
