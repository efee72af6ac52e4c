import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PostgresServer, waitFor } from '@test/support';
import { bookmarksOptions, bootBookmarks, call, type RunningBookmarks } from '../support/bookmarks.js';
import { migrate, resolveOptions, type ShardingOptions } from '@app/sharding';

let servers: Record<'control' | 'shard0' | 'shard1', PostgresServer>;
let options: ShardingOptions;
let service: RunningBookmarks;

beforeAll(async () => {
  const [control, shard0, shard1] = await Promise.all(
    ['control', 'shard0', 'shard1'].map((name) => PostgresServer.start({ name })),
  );
  servers = { control: control!, shard0: shard0!, shard1: shard1! };
  options = bookmarksOptions({
    control: await servers.control.createDatabase('bookmarks'),
    shards: [
      await servers.shard0.createDatabase('bookmarks'),
      await servers.shard1.createDatabase('bookmarks'),
    ],
  });
  await migrate(resolveOptions(options), () => undefined);
}, 60_000);

afterAll(async () => {
  for (const server of Object.values(servers)) await server.dispose();
});

const list = (tenant: string) => call(`${service.url}/api/bookmarks`, { tenant });
const health = () => call(`${service.url}/health`);
const downOf = async () => Object.keys(((await health()).body as { error: object }).error);

const UNAVAILABLE = {
  statusCode: 503,
  code: 'shard_unavailable',
  message: expect.stringMatching(
    /^shard "shard1" (cannot be reached \(\w+\)|lost the connection \(\w+\)|is unavailable: .*)$/,
  ),
};

async function allIsWell(): Promise<void> {
  await waitFor(async () => (await list('globex')).status === 200, { what: 'globex to be served again' });
  expect(await list('acme')).toMatchObject({ status: 200, body: { shard: 'shard0' } });
  expect(await list('globex')).toMatchObject({ status: 200, body: { shard: 'shard1' } });
  expect(await health()).toMatchObject({ status: 200, body: { status: 'ok' } });
}

async function shard1IsDownAlone(): Promise<void> {
  const globex = await list('globex');
  expect(globex).toMatchObject({ status: 503, body: UNAVAILABLE });
  expect(globex.ms).toBeLessThan(6000);
  expect(await list('acme')).toMatchObject({ status: 200, body: { shard: 'shard0' } });
  expect(await call(`${service.url}/api/stats`)).toMatchObject({
    status: 200,
    body: {
      shard0: { slots: 8192, bookmarks: 0 },
      shard1: { slots: 8192, bookmarks: null, error: 'shard_unavailable' },
    },
  });
  expect((await health()).status).toBe(503);
  expect(await downOf()).toEqual(['db:shard:shard1']);
  expect(await call(`${service.url}/health/live`)).toMatchObject({ status: 200, body: { status: 'ok' } });
}

describe('a shard that is killed', () => {
  beforeEach(async () => {
    service = await bootBookmarks(options, 'no');
  });

  afterEach(() => service.app.close());

  it('is down alone, and heals without a restart', async () => {
    await allIsWell();
    await servers.shard1.kill();
    await shard1IsDownAlone();
    await servers.shard1.restart();
    await allIsWell();
  });

  it('under load fails its own requests only', async () => {
    await allIsWell();
    const load = Promise.all(
      Array.from({ length: 200 }, async (_none, index) => {
        const tenant = index % 2 === 0 ? 'acme' : 'globex';
        if (index === 40) await servers.shard1.kill();
        const { status, body } = await list(tenant);
        return { tenant, status, body };
      }),
    );
    const answers = await load;
    expect(answers.filter(({ tenant, status }) => tenant === 'acme' && status !== 200)).toEqual([]);
    const failed = answers.filter(({ status }) => status !== 200);
    expect(failed.every(({ body }) => (body as { code: string }).code === 'shard_unavailable')).toBe(true);
    await shard1IsDownAlone();
    await servers.shard1.restart();
    await allIsWell();
  });
});

describe('a shard that is down at boot (C17)', () => {
  it('does not stop the boot, is down alone, and heals without a restart', async () => {
    await servers.shard1.stop();
    service = await bootBookmarks(options, 'no');
    try {
      await shard1IsDownAlone();
      await servers.shard1.restart();
      await allIsWell();
    } finally {
      await service.app.close();
    }
  });

  it('concurrent first uses share one attempt to open, and all fail in the same way', async () => {
    await servers.shard1.stop();
    service = await bootBookmarks(options, 'no');
    try {
      const answers = await Promise.all(Array.from({ length: 30 }, () => list('globex')));
      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 30 }, () => 503));
      await servers.shard1.restart();
      await allIsWell();
    } finally {
      await service.app.close();
    }
  });
});

describe('a control database that is down', () => {
  it('shows in health alone; tenants are served', async () => {
    service = await bootBookmarks(options, 'no');
    try {
      await servers.control.kill();
      expect(await list('acme')).toMatchObject({ status: 200 });
      expect(await list('globex')).toMatchObject({ status: 200 });
      expect(await downOf()).toEqual(['db:control']);
      await servers.control.restart();
      await waitFor(async () => (await health()).status === 200, { what: 'control to be up' });
    } finally {
      await service.app.close();
    }
  });
});
