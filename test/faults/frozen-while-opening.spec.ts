import { expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { Shards } from '@app/sharding';
import { PostgresServer, expectNoConnections } from '@test/support';
import { bootApp } from '../support/deployment.js';

it('a server that freezes right after the connect does not hang its first user, and is opened again later', async () => {
  const server = await PostgresServer.start({ name: 'freezing' });
  let freezes = 1;
  try {
    const url = await server.createDatabase('app');
    const app = await bootApp({
      database: { connectTimeoutMs: 400, drainTimeoutMs: 500, shards: [{ name: 'shard0', primaryUrl: url }] },
      createDataSource: (_target, _role, options) => {
        const onConnect = async () => {
          if (freezes-- > 0) server.freeze({ backends: true });
        };
        return new DataSource({ ...options, extra: { ...(options.extra as object), onConnect } });
      },
    });
    const shards = app.get(Shards);
    const began = performance.now();
    const users = await Promise.allSettled([shards.dbOn('shard0'), shards.dbFor('acme')]);
    expect(users.map((end) => end.status === 'rejected' && (end.reason as { code: string }).code)).toEqual([
      'shard_unavailable',
      'shard_unavailable',
    ]);
    expect(performance.now() - began).toBeLessThan(5000);
    server.thaw();
    const db = await shards.dbOn('shard0');
    await expect(db.query('select 1 as one')).resolves.toEqual([{ one: 1 }]);
    expect(freezes).toBeLessThan(1); // the fault was injected
    await app.close();
    await expectNoConnections(url);
  } finally {
    await server.dispose();
  }
});
