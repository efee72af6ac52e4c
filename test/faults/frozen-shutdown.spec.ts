import { expect, it } from '@jest/globals';
import { Shards } from '@app/sharding';
import { PostgresServer, waitFor } from '@test/support';
import { bookmarksOptions, bootBookmarks, call } from '../support/bookmarks.js';

it('a request that waits for a frozen shard does not keep the application from closing', async () => {
  const servers = await Promise.all(
    ['control', 'shard0', 'shard1'].map((name) => PostgresServer.start({ name })),
  );
  const [control, shard0, shard1] = servers;
  try {
    const options = bookmarksOptions(
      {
        control: await control!.createDatabase('b'),
        shards: [await shard0!.createDatabase('b'), await shard1!.createDatabase('b')],
      },
      { drainTimeoutMs: 500 },
    );
    const { app, url } = await bootBookmarks(options);
    await call(`${url}/api/bookmarks`, { tenant: 'globex' });
    shard1!.freeze({ backends: true });
    const answer = call(`${url}/api/bookmarks`, { tenant: 'globex' });
    const shard = app.get(Shards).named('shard1');
    await waitFor(async () => shard.stats().active === 1, { what: 'the request to wait for the shard' });
    const began = performance.now();
    await app.close();
    expect(performance.now() - began).toBeLessThan(8000);
    expect(await answer).toMatchObject({ status: 503, body: { code: 'shard_unavailable' } });
    shard1!.thaw();
  } finally {
    for (const server of servers) await server.dispose();
  }
}, 60_000);
