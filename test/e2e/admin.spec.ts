import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PostgresServer, TestCluster, waitFor } from '@test/support';
import { bookmarksOptions, bootBookmarks, call, type RunningBookmarks } from '../support/bookmarks.js';

const KEY = 'the key of this test';

let sick: PostgresServer;
let service: RunningBookmarks;

beforeAll(async () => {
  process.env['BOOKMARKS_ADMIN_KEY'] = KEY;
  sick = await PostgresServer.start({ name: 'shard1' });
  const cluster = TestCluster.attach();
  const urls = {
    control: await cluster.createDatabase({ label: 'control' }),
    shards: [await cluster.createDatabase({ label: 'shard0' }), await sick.createDatabase('shard1')],
  };
  service = await bootBookmarks(bookmarksOptions(urls, { connectTimeoutMs: 1000 }));
  for (let index = 0; index < 7; index++) {
    for (const tenant of ['acme', 'globex']) {
      const json = {
        url: 'https://a.example',
        title: `${tenant} ${index}`,
        tag: index < 3 ? 'rare' : 'often',
      };
      expect((await call(`${service.url}/api/bookmarks`, { tenant, json })).status).toBe(201);
    }
  }
});

afterAll(async () => {
  delete process.env['BOOKMARKS_ADMIN_KEY'];
  await service?.app.close();
  await sick?.dispose();
});

interface Page {
  bookmarks: { title: string; tenantId: string; createdAt: string }[];
  next: string | null;
  missing?: unknown;
}

async function ask(path: string, key: string | undefined = KEY): Promise<{ status: number; body: never }> {
  const answer = await fetch(`${service.url}${path}`, {
    headers: key === undefined ? {} : { 'x-api-key': key },
  });
  return { status: answer.status, body: (await answer.json()) as never };
}

describe('the administration', () => {
  it.each([
    ['without a key', ''],
    ['with another key', 'the key of this tesT'],
  ])('is closed %s', async (_name, key) => {
    for (const path of ['/admin/bookmarks', '/admin/top-tags']) {
      expect(await ask(path, key)).toMatchObject({ status: 401, body: { statusCode: 401 } });
    }
    expect((await fetch(`${service.url}/admin/bookmarks`)).status).toBe(401);
  });

  it('pages through both shards in one order, without a tenant', async () => {
    const seen: Page['bookmarks'] = [];
    let after = '';
    for (let page = 0; page < 4; page++) {
      const { status, body } = await ask(`/admin/bookmarks?take=4${after}`);
      expect(status).toBe(200);
      const { bookmarks, next } = body as Page;
      seen.push(...bookmarks);
      if (!next) break;
      after = `&after=${encodeURIComponent(next)}`;
    }
    expect(seen).toHaveLength(14);
    const made = [6, 5, 4, 3, 2, 1, 0].flatMap((index) => [`globex ${index}`, `acme ${index}`]);
    expect(seen.map(({ title }) => title)).toEqual(made);
  });

  it('counts tags over all shards', async () => {
    expect(await ask('/admin/top-tags')).toEqual({
      status: 200,
      body: [
        { tag: 'often', bookmarks: 8 },
        { tag: 'rare', bookmarks: 6 },
      ],
    });
  });

  it('refuses a cursor that was tampered with, and a page of what is no number', async () => {
    const { body } = await ask('/admin/bookmarks?take=2');
    const forged = `${(body as Page).next ?? ''}x`;
    expect(await ask(`/admin/bookmarks?take=2&after=${encodeURIComponent(forged)}`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_cursor' },
    });
    expect((await ask('/admin/bookmarks?take=many')).status).toBe(400);
    expect((await ask('/admin/bookmarks?take=101')).status).toBe(400);
  });

  it('with a shard down answers 503, or partially and says what is missing', async () => {
    await sick.stop('immediate');
    try {
      expect(await ask('/admin/bookmarks?take=5')).toMatchObject({
        status: 503,
        body: { code: 'shard_unavailable' },
      });
      const { status, body } = await ask('/admin/bookmarks?take=50&partial=1');
      const { bookmarks, missing } = body as Page;
      expect(status).toBe(200);
      expect(new Set(bookmarks.map(({ tenantId }) => tenantId))).toEqual(new Set(['acme']));
      expect([bookmarks.length, missing]).toEqual([7, [{ shard: 'shard1', code: 'shard_unavailable' }]]);
    } finally {
      await sick.restart();
    }
    await waitFor(async () => (await ask('/admin/bookmarks?take=5')).status === 200, { what: 'the shard' });
  });
});
