import { beforeEach, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { slotOf } from '@app/routing';
import { withClient } from '../../support/admin-query.js';
import { MovingFleet } from '../../support/moving-fleet.js';
import type { MoveOptions } from '@app/sharding/operator';

let fleet: MovingFleet;

/** A tenant of the lower half of the slots: shard0. */
const acme = Array.from({ length: 20 }, (_, index) => `tenant-${index}`).find((key) => slotOf(key) < 8192)!;

/** A verified move that is routed to shard1, and whose purge ends at this moment. */
const crashAt = (at: string): MoveOptions => ({
  leaseMs: 300,
  reached: (point) => {
    if (point === at) throw new Error(`the mover died at ${at}`);
  },
});
const again: MoveOptions = { leaseMs: 300 };
const write = () => fleet.query(0, `insert into bookmarks (tenant_id, url) values ($1, 'new')`, [acme]);
const rowsOf = (place: number) =>
  fleet.query(place, 'select bookmarks::text as row from bookmarks where tenant_id = $1 order by id', [acme]);

beforeEach(async () => {
  fleet = await MovingFleet.create();
  await fleet.query(
    0,
    `insert into bookmarks (tenant_id, url) select $1, 'x' || n from generate_series(1, 10) n`,
    [acme],
  );
  await fleet.move({ keys: [acme] });
  await fleet.pin(acme, 'shard1');
});

it('keeps the only rows when a purge was not recorded and the route went back', async () => {
  const rows = await rowsOf(0);
  await expect(fleet.confirm({ keys: [acme] }, crashAt('purge-committed'))).rejects.toThrow('died');
  await fleet.pin(acme, 'shard0');
  await expect(fleet.move({ keys: [acme] }, again)).rejects.toMatchObject({
    code: 'move_refused',
    message: expect.stringContaining('are the only ones'),
  });
  expect(await rowsOf(1)).toEqual(rows);
  await fleet.pin(acme, 'shard1');
  expect(await fleet.confirm({ keys: [acme] }, again)).toMatchObject({ state: 'purged' });
  expect(await rowsOf(1)).toEqual(rows);
});

it('fences again where a purge was given up and the route went back', async () => {
  await expect(fleet.confirm({ keys: [acme] }, crashAt('tombstones-set'))).rejects.toThrow('died');
  await expect(write()).rejects.toMatchObject({ code: 'SHM01' });
  await fleet.pin(acme, 'shard0');
  const fenced = await fleet.move({ keys: [acme], writes: 'fenced' }, again);
  expect(fenced.steps.map(({ state }) => state)).toEqual(['copied', 'verified', 'fenced', 'verified']);
});

it('refuses no write of a key that is routed to the source, and copies it again', async () => {
  await expect(fleet.confirm({ keys: [acme] }, crashAt('tombstones-set'))).rejects.toThrow('died');
  await fleet.pin(acme, 'shard0');
  await fleet.move({ keys: [acme] }, again);
  await write();
  await fleet.move({ keys: [acme] }, again);
  await fleet.pin(acme, 'shard1');
  expect(await fleet.confirm({ keys: [acme] }, again)).toMatchObject({ state: 'purged' });
  expect(await rowsOf(1)).toHaveLength(11);
});

it('takes more time for the fence when it is asked again with more', async () => {
  await fleet.pin(acme, 'shard0');
  const reached = async (point: string) => {
    if (point === 'fenced') await pause(400);
  };
  const fenced = (fenceMs: number) =>
    fleet.move({ keys: [acme], writes: 'fenced', fenceMs }, { ...again, reached });
  await expect(fenced(200)).rejects.toMatchObject({ message: expect.stringContaining('with more time') });
  expect(await fenced(20_000)).toMatchObject({ state: 'verified', terms: { fenceMs: 20_000 } });
});

it('aborts while somebody reads the table for long, and tells what stays', async () => {
  await fleet.pin(acme, 'shard0');
  const { id } = await fleet.move({ keys: [acme], writes: 'fenced' });
  const notes: string[] = [];
  await withClient(fleet.shards[0]!, async (reader) => {
    await reader.query('begin');
    await reader.query('select from bookmarks');
    const aborted = fleet.moves((moves) => moves.abort(id, { note: (line) => notes.push(line) }));
    await expect(aborted).resolves.toMatchObject({ state: 'aborted' });
    await reader.query('rollback');
  });
  expect(notes.join()).toContain('table public.bookmarks was not free');
  await write();
});

it('takes no empty text for the beginning of the only id', async () => {
  await fleet.pin(acme, 'shard0');
  const unknown = { code: 'unknown_move' };
  await expect(fleet.moves((moves) => moves.purge(''))).rejects.toMatchObject(unknown);
  await expect(fleet.moves((moves) => moves.abort(''))).rejects.toMatchObject(unknown);
});

it('aborts a repair whose key is routed to the source by now', async () => {
  const stray = await MovingFleet.create();
  await stray.query(0, `insert into bookmarks (tenant_id, url) values ($1, 'x')`, [acme]);
  await stray.pin(acme, 'shard1');
  const reached = async (point: string) => {
    if (point === 'verified') await stray.pin(acme, 'shard0');
  };
  const report = await stray.moves((moves) => moves.repair({}, { mode: 'apply', by: 'test', reached }));
  expect(report.steps).toMatchObject([{ what: 'move', outcome: 'refused' }]);
  const open = `select from _sharding_moves where state not in ('purged', 'aborted')`;
  expect(await stray.query('control', open)).toEqual([]);
  expect(await stray.query(1, 'select from bookmarks')).toEqual([]);
  await stray.query(0, `insert into bookmarks (tenant_id, url) values ($1, 'y')`, [acme]);
});

it('takes no copy away while a process is routed to it still', async () => {
  await fleet.query(
    'control',
    `insert into _sharding_processes (process_id, name, revision, started_at, lease_until)
      select gen_random_uuid(), 'late', revision, now(), now() + interval '2 s' from _sharding_revision`,
  );
  await fleet.pin(acme, 'shard0');
  const [move] = await fleet.query('control', 'select id::text as id from _sharding_moves');
  const reached = async (point: string) => {
    if (point !== 'copy-removed') return;
    const living = 'select from _sharding_processes where lease_until > clock_timestamp()';
    expect(await fleet.query('control', living)).toEqual([]);
  };
  const aborted = fleet.moves((moves) => moves.abort(String(move?.['id']), { reached }));
  await expect(aborted).resolves.toMatchObject({ state: 'aborted' });
});
