import { beforeEach, expect, it } from '@jest/globals';
import { slotOf } from '@app/routing';
import { MovingFleet } from '../../support/moving-fleet.js';

let fleet: MovingFleet;

/** A tenant of the lower half of the slots: shard0. */
const acme = Array.from({ length: 20 }, (_, index) => `tenant-${index}`).find((key) => slotOf(key) < 8192)!;

const again = { leaseMs: 300 };
const rowsOf = (place: number) =>
  fleet.query(place, 'select bookmarks::text as row from bookmarks where tenant_id = $1 order by id', [acme]);
const change = (url: string) =>
  fleet.query(0, `update bookmarks set url = $2 where tenant_id = $1`, [acme, url]);

beforeEach(async () => {
  fleet = await MovingFleet.create();
  await fleet.query(
    0,
    `insert into bookmarks (tenant_id, url) select $1, 'first' from generate_series(1, 10) n`,
    [acme],
  );
  await fleet.move({ keys: [acme] });
});

it('does not delete what a later copy, which was not recorded, does not have', async () => {
  const rows = await rowsOf(0);
  await change('second');
  const dies = (point: string) => {
    if (point === 'copy-committed') throw new Error('the mover died');
  };
  await expect(fleet.move({ keys: [acme] }, { ...again, reached: dies })).rejects.toThrow('died');
  await change('first');
  await fleet.pin(acme, 'shard1');
  const refused = fleet.confirm({ keys: [acme] }, again);
  await expect(refused).rejects.toMatchObject({
    code: 'move_refused',
    message: expect.stringContaining('shard1 does not know of the copy'),
  });
  expect(await rowsOf(0)).toEqual(rows);
});

it('does not delete when the destination was put back to before the copy', async () => {
  const rows = await rowsOf(0);
  await fleet.query(1, 'truncate bookmarks, _sharding_move_sides'); // a replica that lagged was promoted
  await fleet.pin(acme, 'shard1');
  await expect(fleet.confirm({ keys: [acme] })).rejects.toMatchObject({ code: 'move_refused' });
  expect(await rowsOf(0)).toEqual(rows);
});

it('does not delete when the route went back while writers were waited for', async () => {
  const rows = await rowsOf(0);
  await fleet.pin(acme, 'shard1');
  const reached = async (point: string) => {
    if (point === 'tombstones-set') await fleet.pin(acme, 'shard0');
  };
  const refused = fleet.confirm({ keys: [acme] }, { reached });
  await expect(refused).rejects.toMatchObject({
    code: 'move_refused',
    message: expect.stringContaining('not routed to shard1'),
  });
  expect(await rowsOf(0)).toEqual(rows);
  await change('written at the source');
});

it('does not delete values of a column that came after the copy', async () => {
  for (const place of [0, 1]) await fleet.query(place, 'alter table bookmarks add column note text');
  await fleet.query(0, `update bookmarks set note = 'new' where tenant_id = $1`, [acme]);
  const changed = {
    code: 'move_refused',
    message: expect.stringContaining('the columns of public.bookmarks changed'),
  };
  await expect(fleet.move({ keys: [acme] })).rejects.toMatchObject(changed);
  await fleet.pin(acme, 'shard1');
  await expect(fleet.confirm({ keys: [acme] })).rejects.toMatchObject(changed);
  expect(await fleet.query(0, `select from bookmarks where note = 'new'`)).toHaveLength(10);
});

it('deletes no rows of a table that came after the copy and refers to what moved', async () => {
  await fleet.query(
    0,
    `create table notes (tenant_id text, bookmark_id bigint references bookmarks on delete cascade)`,
  );
  await fleet.query(0, 'insert into notes select tenant_id, id from bookmarks where tenant_id = $1', [acme]);
  await fleet.pin(acme, 'shard1');
  const refused = fleet.confirm({ keys: [acme], tables: ['bookmarks'] });
  await expect(refused).rejects.toMatchObject({
    code: 'move_refused',
    message: expect.stringContaining('public.notes refers to moved rows'),
  });
  expect(await fleet.query(0, 'select from notes')).toHaveLength(10);
});

it('fires no trigger that came after the copy', async () => {
  const statements = [
    'create table events (id bigint)',
    `create function tell() returns trigger language plpgsql
      as 'begin insert into public.events values (old.id); return null; end'`,
    'create trigger tell after delete on bookmarks for each row execute function tell()',
    'alter table bookmarks enable always trigger tell',
  ];
  for (const statement of statements) await fleet.query(0, statement);
  await fleet.pin(acme, 'shard1');
  await expect(fleet.confirm({ keys: [acme] })).rejects.toMatchObject({
    code: 'move_refused',
    message: expect.stringContaining('triggers would fire on the source'),
  });
  expect(await fleet.query(0, 'select from events')).toEqual([]);
  expect(await rowsOf(0)).toHaveLength(10);
});

it('takes neither side for the other where URLs were exchanged', async () => {
  const { database } = fleet.options;
  const urls = fleet.shards.toReversed();
  const shards = (database?.shards ?? []).map((shard, at) => ({ ...shard, primaryUrl: urls[at]! }));
  const exchanged = { ...fleet.options, database: { ...database, shards } };
  const [move] = await fleet.query('control', 'select id::text as id from _sharding_moves');
  const aborted = fleet.moves((moves) => moves.abort(String(move?.['id'])), exchanged);
  await expect(aborted).rejects.toMatchObject({
    code: 'move_refused',
    message: expect.stringContaining('is its destination'),
  });
  await fleet.pin(acme, 'shard1');
  const purged = fleet.moves((moves) => moves.confirm(fleet.request({ keys: [acme] })), exchanged);
  await expect(purged).rejects.toMatchObject({ code: 'move_refused' });
  expect(await rowsOf(1)).toHaveLength(10);
});

it('says so when it was purged already, and only of the last move of the rows', async () => {
  await fleet.pin(acme, 'shard1');
  const purged = await fleet.confirm({ keys: [acme] });
  const notes: string[] = [];
  const note = (line: string) => void notes.push(line);
  const { id, steps } = purged;
  expect(await fleet.confirm({ keys: [acme] }, { note })).toMatchObject({ id, steps, state: 'purged' });
  expect(notes).toEqual([expect.stringContaining(`move ${purged.id} was purged already`)]);
  const back = { keys: [acme], from: 'shard1', to: 'shard0' };
  const nothing = { code: 'move_refused', message: expect.stringContaining('no verified move') };
  await expect(fleet.confirm(back)).rejects.toMatchObject(nothing);
  await fleet.move(back);
  await fleet.pin(acme, 'shard0');
  await fleet.confirm(back);
  await expect(fleet.confirm({ keys: [acme] })).rejects.toMatchObject(nothing);
  await expect(fleet.confirm({ ...back, keyColumn: 'url' })).rejects.toMatchObject({ code: 'move_refused' });
});

it('is told as what it is when it is interrupted, and not in the words of the driver', async () => {
  await fleet.pin(acme, 'shard1');
  for (const at of ['tombstones-set', 'rows-deleted']) {
    const stop = new AbortController();
    const reached = (point: string) => {
      if (point === at) stop.abort();
    };
    await expect(
      fleet.confirm({ keys: [acme] }, { ...again, signal: stop.signal, reached }),
    ).rejects.toMatchObject({
      name: 'ShardingError',
      code: 'aborted',
    });
  }
  expect(await fleet.confirm({ keys: [acme] }, again)).toMatchObject({ state: 'purged' });
});
