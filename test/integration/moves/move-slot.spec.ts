import { beforeAll, expect, it } from '@jest/globals';
import { slotOf } from '@app/routing';
import { FRAMEWORK_TABLES, MovingFleet } from '../../support/moving-fleet.js';

let fleet: MovingFleet;

/** Tenants of the lower half of the slots: shard0. */
const [acme = '', globex = ''] = Array.from({ length: 100 }, (_, index) => `tenant-${index}`).filter(
  (key) => slotOf(key) < 8192,
);

beforeAll(async () => {
  fleet = await MovingFleet.create();
  await fleet.query(
    0,
    `insert into bookmarks (tenant_id, url) select t, 'https://x.test/' || n
    from unnest($1::text[]) t, generate_series(1, 100) n`,
    [[acme, globex]],
  );
});

const rowsOf = (place: number, tenant: string) =>
  fleet.query(place, 'select bookmarks::text as row from bookmarks where tenant_id = $1 order by id', [
    tenant,
  ]);

it('moves a tenant: copies, verifies, asks for the route, and deletes what was verified', async () => {
  const rows = await rowsOf(0, acme);
  const others = await rowsOf(0, globex);
  const move = await fleet.move({ keys: [acme] });
  expect(move).toMatchObject({ state: 'verified', source: 'shard0', destination: 'shard1' });
  expect(await rowsOf(0, acme)).toEqual(rows);
  expect(await rowsOf(1, acme)).toEqual(rows);
  await expect(fleet.confirm({ keys: [acme] })).rejects.toMatchObject({ code: 'move_refused' });
  await fleet.pin(acme, 'shard1');
  const purged = await fleet.confirm({ keys: [acme] });
  expect(purged).toMatchObject({ id: move.id, state: 'purged' });
  expect(await rowsOf(0, acme)).toEqual([]);
  expect(await rowsOf(1, acme)).toEqual(rows);
  expect(await rowsOf(0, globex)).toEqual(others);
});

it('means the keys that are named, and none that a short column would cut them to', async () => {
  const narrow = await MovingFleet.create({
    tables: [
      'create table bookmarks (id int primary key, tenant_id varchar(3) not null, url text not null)',
      'create index on bookmarks (tenant_id)',
    ],
  });
  await narrow.query(0, `insert into bookmarks values (1, 'abc', 'x')`);
  const compared = (keys: string[]) =>
    narrow.moves((moves) => moves.verify({ from: 'shard0', to: 'shard1', keys }));
  const none = { sourceRows: '0', destinationRows: '0', same: true };
  const framework = FRAMEWORK_TABLES.map((table) => ({ table, ...none }));
  expect(await compared(['abcdef'])).toEqual([{ table: 'public.bookmarks', ...none }, ...framework]);
  expect(await compared(['abc'])).toMatchObject([{ sourceRows: '1', same: false }, ...framework]);
});

it('names the rule and no value where a database refuses the copy', async () => {
  const strict = await MovingFleet.create({
    tables: [
      'create table bookmarks (id int primary key, tenant_id text not null, url text not null)',
      'create index on bookmarks (tenant_id)',
    ],
  });
  await strict.query(0, `insert into bookmarks values (1, $1, 'secret')`, [acme]);
  const collide = async (point: string) => {
    if (point === 'sequences-raised')
      await strict.query(1, `insert into bookmarks values (1, 'other', 'taken')`);
  };
  const failed = await strict.move({ keys: [acme] }, { reached: collide }).catch((error: unknown) => error);
  expect(failed).toMatchObject({ code: 'move_refused' });
  expect((failed as Error).message).toContain('bookmarks_pkey');
  expect(JSON.stringify(failed) + (failed as Error).message).not.toContain('secret');
  expect(await strict.query(1, 'select url from bookmarks')).toEqual([{ url: 'taken' }]);
});

it('does not take a copy for good that somebody has touched', async () => {
  const touched = await MovingFleet.create();
  await touched.query(0, `insert into bookmarks (tenant_id, url) values ($1, 'x'), ($1, 'y')`, [acme]);
  const { id } = await touched.move({ keys: [acme] });
  await touched.query(1, `delete from bookmarks where url = 'y'`);
  await expect(touched.move({ keys: [acme] })).rejects.toMatchObject({ code: 'move_mismatch' });
  await expect(touched.moves((moves) => moves.abort(id))).rejects.toMatchObject({ code: 'move_mismatch' });
  expect(await touched.query(0, 'select url from bookmarks order by url')).toEqual([
    { url: 'x' },
    { url: 'y' },
  ]);
});
