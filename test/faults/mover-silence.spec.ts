import { Socket } from 'node:net';
import { beforeEach, expect, it, jest } from '@jest/globals';
import { sessionOf } from '@app/sharding/operator';
import { slotOf } from '@app/routing';
import { FaultProxy } from '../support/fault-proxy.js';
import { MovingFleet } from '../support/moving-fleet.js';
import { withClient } from '../support/admin-query.js';

let fleet: MovingFleet;
const acme = Array.from({ length: 20 }, (_, index) => `tenant-${index}`).find((key) => slotOf(key) < 8192)!;

beforeEach(async () => {
  fleet = await MovingFleet.create();
});

it('gives up a shard that takes connections and says nothing', async () => {
  const proxy = await FaultProxy.start({ port: Number(new URL(fleet.control).port) });
  try {
    const { database } = fleet.options;
    const [source, destination] = database?.shards ?? [];
    const shards = [source!, { ...destination!, primaryUrl: proxy.url(fleet.shards[1]!) }];
    const options = { ...fleet.options, database: { ...database, shards, connectTimeoutMs: 500 } };
    proxy.blackHole();
    const move = fleet.moves((moves) => moves.move(fleet.request({ keys: [acme] })), options);
    await expect(move).rejects.toMatchObject({ code: 'shard_unavailable' });
  } finally {
    await proxy.dispose();
  }
});

it('lets both ends of its connections notice that the other host is gone', async () => {
  const alive = jest.spyOn(Socket.prototype, 'setKeepAlive');
  await fleet.moves((moves) => moves.list());
  expect(alive).toHaveBeenCalledWith(true, 10_000);
  await withClient(fleet.shards[0]!, async (client) => {
    await sessionOf(client);
    const { rows } = await client.query('show tcp_keepalives_idle');
    expect(rows).toEqual([{ tcp_keepalives_idle: '10' }]);
  });
});
