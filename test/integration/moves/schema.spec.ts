import { expect, it } from '@jest/globals';
import { slotOf } from '@app/routing';
import { readSchema, schemaDifferences } from '@app/sharding/operator';
import { withClient } from '../../support/admin-query.js';
import { MovingFleet } from '../../support/moving-fleet.js';

it('takes the triggers of a tombstone for no drift', async () => {
  const fleet = await MovingFleet.create();
  const [key = ''] = Array.from({ length: 50 }, (_, index) => `tenant-${index}`).filter(
    (each) => slotOf(each) < 8192,
  );
  await fleet.query(0, `insert into bookmarks (tenant_id, url) values ($1, 'x')`, [key]);
  await fleet.move({ keys: [key] });
  await fleet.pin(key, 'shard1');
  await fleet.confirm({ keys: [key] });
  const triggers = `select 1 from pg_trigger where tgname ~ '_sharding_fence_'`;
  expect((await fleet.query(0, triggers)).length).toBeGreaterThan(0);
  expect(await fleet.query(1, triggers)).toEqual([]);
  const shards = await Promise.all(
    fleet.shards.map(async (url, index) => ({
      shard: `shard${index}`,
      objects: await withClient(url, (client) => readSchema(client, 5000)),
    })),
  );
  expect(schemaDifferences(shards)).toEqual([]);
});
