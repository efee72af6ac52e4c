import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Shards, type EachOptions } from '@app/sharding';
import { FaultProxy } from '@test/support';
import { bootApp, deployment } from '../support/deployment.js';

let proxy: FaultProxy;
let url: string;

beforeAll(async () => {
  const place = await deployment(1);
  const [shard = ''] = place.shards;
  proxy = await FaultProxy.start({ port: Number(new URL(shard).port) });
  url = proxy.url(shard);
});
afterAll(() => proxy.dispose());

it.each<[string, () => EachOptions]>([
  ['gives up', () => ({ signal: AbortSignal.timeout(60) })],
  ['runs out of time', () => ({ deadlineMs: 60 })],
])('who opens a shard first and %s takes nobody with it', async (_name, limits) => {
  proxy.delay(40);
  const app = await bootApp({ database: { shards: [{ name: 'shard0', primaryUrl: url }] } });
  try {
    const shards = app.get(Shards);
    const [first, second] = await Promise.all([
      shards.each((db) => db.query('select 1'), limits()),
      shards.each((db) => db.query('select 2 as two')),
    ]);
    expect(first).toMatchObject([
      { ok: false, error: { code: expect.stringMatching(/aborted|deadline_exceeded/) } },
    ]);
    expect(second).toMatchObject([{ ok: true, value: [{ two: 2 }] }]);
  } finally {
    proxy.heal();
    await app.close();
  }
});
