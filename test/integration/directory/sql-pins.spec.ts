import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Shards } from '@app/sharding';
import { waitFor } from '@test/support';
import { bootApp, deployment } from '../../support/deployment.js';
import type { INestApplication } from '@nestjs/common';
import type { Deployment } from '../../support/deployment.js';

let place: Deployment;
let app: INestApplication;
let shards: Shards;

beforeAll(async () => {
  place = await deployment();
  app = await bootApp(place.options({ directoryShardRouter: true }));
  shards = app.get(Shards);
});
afterAll(() => app?.close());

const shardOf = async (key: string) => (await shards.shardFor(key)).name;
const routes = (key: string, shard: string) =>
  waitFor(async () => (await shardOf(key)) === shard, { what: `${key} to be routed to ${shard}` });

describe('a pin by raw SQL', () => {
  it('moves the next use of the key to the pinned shard, and back when it is gone', async () => {
    expect(await shardOf('acme')).toBe('shard0');
    await place.query(
      'control',
      `insert into _sharding_directory (routing_key, shard_name) values ('acme', 'shard1')`,
    );
    await routes('acme', 'shard1');
    await place.query('control', `delete from _sharding_directory where routing_key = 'acme'`);
    await routes('acme', 'shard0');
  });
});
