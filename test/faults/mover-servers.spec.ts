import { afterEach, expect, it } from '@jest/globals';
import { slotOf } from '@app/routing';
import { PostgresServer, type ServerOptions } from '@test/support';
import { MovingFleet } from '../support/moving-fleet.js';
import type { ShardingOptions } from '@app/sharding';

/** Destinations that cannot take the rows: nothing is lost, and the same command goes on when they can. */
let server: PostgresServer;
afterEach(() => server.dispose());

const [acme = ''] = Array.from({ length: 50 }, (_, index) => `tenant-${index}`).filter(
  (key) => slotOf(key) < 8192,
);
const keys = [acme];
/** About 2 kB each, which PostgreSQL does not compress. */
const FILL = `insert into bookmarks (tenant_id, url)
  select $1, (select string_agg(md5(i::text || j::text), '') from generate_series(1, 60) j) from generate_series(1, $2::int) i`;

async function fleetWith(options: ServerOptions, rows: number): Promise<MovingFleet> {
  server = await PostgresServer.start({ name: 'destination', ...options });
  const fleet = await MovingFleet.create({ last: await server.createDatabase('shard1') });
  await fleet.query(0, FILL, [acme, rows]);
  return fleet;
}

const rowsOn = async (fleet: MovingFleet, place: number) =>
  Number((await fleet.query(place, 'select count(*) as rows from bookmarks'))[0]?.['rows']);

it('leaves nothing at a destination whose disk is full, and moves what fits', async () => {
  const fleet = await fleetWith({ maxFileBytes: 4 * 2 ** 20 }, 4000);
  await expect(fleet.move({ keys })).rejects.toMatchObject({
    code: 'move_refused',
    message: expect.stringContaining('its disk is full'),
  });
  expect([await rowsOn(fleet, 0), await rowsOn(fleet, 1)]).toEqual([4000, 0]);
  await fleet.query(1, 'vacuum bookmarks');
  await fleet.query(0, 'delete from bookmarks where id % 100 <> 1');
  const left = await rowsOn(fleet, 0);
  expect(await fleet.move({ keys })).toMatchObject({ state: 'verified' });
  expect(await rowsOn(fleet, 1)).toBe(left);
});

it('says that a destination has no free connection, and goes on when it has', async () => {
  const fleet = await fleetWith({ maxConnections: 12 }, 3);
  const held = await server.holdConnections();
  await expect(fleet.move({ keys })).rejects.toMatchObject({ code: 'shard_unavailable' });
  await held.release();
  expect(await fleet.move({ keys })).toMatchObject({ state: 'verified' });
});

it('refuses a replica as destination', async () => {
  const fleet = await fleetWith({}, 3);
  const replica = await server.replica({ name: 'replica' });
  try {
    const { database } = fleet.options;
    const [source, destination] = database?.shards ?? [];
    const options: ShardingOptions = {
      ...fleet.options,
      database: { ...database, shards: [source!, { ...destination!, primaryUrl: replica.url('shard1') }] },
    };
    const refused = fleet.moves((moves) => moves.move(fleet.request({ keys })), options);
    await expect(refused).rejects.toMatchObject({
      code: 'move_refused',
      message: expect.stringContaining('shard1 is a standby and takes no writes: name its primary'),
    });
  } finally {
    await replica.dispose();
  }
  expect([await rowsOn(fleet, 0), await rowsOn(fleet, 1)]).toEqual([3, 0]);
});
