import { afterEach, describe, expect, it } from '@jest/globals';
import { slotOf } from '@app/routing';
import { MovingFleet } from '../../support/moving-fleet.js';
import { Scattered, companions, fill, lower, upper } from './scattered.js';
import type { MoveOptions } from '@app/sharding/operator';
import type { ShardingOptions } from '@app/sharding';

/** Reads of all shards count each row once, whatever a move has done. */
const [acme = '', other = ''] = lower;
const slot = slotOf(acme);
const [follower = '', kept = '', late = ''] = companions(acme, 3);
const opened: Scattered[] = [];

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

async function boot(options: ShardingOptions): Promise<Scattered> {
  const scattered = await Scattered.boot(options);
  opened.push(scattered);
  return scattered;
}

/** The moments at which a move stopped, with whether the answers were those of before. */
function watched(scattered: Scattered, before: object): MoveOptions & { readonly at: string[] } {
  const at: string[] = [];
  const reached = async (point: string) => {
    expect(await scattered.answers()).toEqual(before);
    at.push(point);
  };
  return { at, reached };
}

const ignoring = (options: ShardingOptions, perKey: ShardingOptions['database'] = {}): ShardingOptions => ({
  ...options,
  database: { ...options.database, directoryShardRouter: false, ...perKey },
});

/** With the slot on shard1. */
function remapped({ database, ...options }: ShardingOptions): ShardingOptions {
  const slots = [
    [`0-${slot - 1}`, `${slot + 1}-8191`],
    [String(slot), '8192-16383'],
  ];
  const shards = database?.shards?.map((shard, index) => ({ ...shard, slots: slots[index] ?? [] }));
  return { ...options, database: { ...database, ...(shards && { shards }) } };
}

const MOVED = [
  'planned',
  'destination-closed',
  'sequences-raised',
  'rows-copied',
  'copy-committed',
  'copied',
  'destination-opened',
  'verified',
];
const PURGED = ['tombstones-set', 'rows-deleted', 'purge-committed', 'purged'];

describe('a tenant', () => {
  const modes: [string, ShardingOptions['database']][] = [
    ['all pins in memory', {}],
    ['each pin looked up', { directorySnapshotMax: 1 }],
  ];
  it.each(modes)('is counted once at every moment of its move: %s', async (_, mode) => {
    const fleet = await MovingFleet.create();
    await fill(fleet, [acme, other]);
    await fill(fleet, upper.slice(0, 2), 1);
    const scattered = await boot({ ...fleet.options, database: { ...fleet.options.database, ...mode } });
    const before = await scattered.answers();
    expect(await scattered.leavesOut()).toBe(false);
    const copy = watched(scattered, before);
    await fleet.move({ keys: [acme] }, copy);
    expect(copy.at).toEqual(MOVED);
    expect(await scattered.leavesOut()).toBe(true);
    await fleet.pin(acme, 'shard1');
    expect(await scattered.answers()).toEqual(before); // whether it knows of the pin or not
    await scattered.settled(fleet);
    expect(await scattered.answers()).toEqual(before);
    const purge = watched(scattered, before);
    await fleet.confirm({ keys: [acme] }, purge);
    expect(purge.at).toEqual(PURGED);
    await scattered.settled(fleet);
    expect(await scattered.answers()).toEqual(before);
    expect(await scattered.leavesOut()).toBe(false);
  });

  it('is counted once while its copy is taken away again', async () => {
    const fleet = await MovingFleet.create();
    await fill(fleet, [acme, other]);
    const scattered = await boot(fleet.options);
    const before = await scattered.answers();
    const { id } = await fleet.move({ keys: [acme] });
    const abort = watched(scattered, before);
    await fleet.moves((moves) => moves.abort(id, abort));
    expect(abort.at).toEqual(['copy-removed', 'aborted']);
    expect(await scattered.answers()).toEqual(before);
  });

  it('moves with one table, and the rows of others are counted where they are', async () => {
    const fleet = await MovingFleet.create();
    const more = 'create table bookmarks_too (id bigint primary key, tenant_id text not null, url text)';
    for (const place of [0, 1]) await fleet.query(place, more);
    for (const place of [0, 1]) await fleet.query(place, 'create index on bookmarks_too (tenant_id)');
    await fill(fleet, [acme]);
    const scattered = await boot(fleet.options);
    const before = await scattered.answers();
    await fleet.query(1, `insert into bookmarks_too values (1, $1, 'x')`, [other]);
    await fleet.query(0, `insert into bookmarks_too values (2, $1, 'x')`, [acme]);
    await fleet.move({ keys: [acme], tables: ['bookmarks_too'] });
    await fleet.pin(acme, 'shard1');
    await scattered.settled(fleet);
    expect(await scattered.leavesOut()).toBe(false);
    expect(await scattered.answers()).toEqual(before);
  });
});

it('moves no more keys at a time than every process can keep', async () => {
  const fleet = await MovingFleet.create();
  const keys = lowerKeys(10_001);
  await expect(fleet.move({ keys })).rejects.toMatchObject({
    code: 'move_refused',
    message: expect.stringContaining('more than the 10000'),
  });
  expect(await fleet.query('control', 'select from _sharding_moves')).toEqual([]);
});

function lowerKeys(count: number): string[] {
  const keys: string[] = [];
  for (let n = 0; keys.length < count; n++) if (slotOf(`many-${n}`) < 8192) keys.push(`many-${n}`);
  return keys;
}

describe('a whole slot', () => {
  const parts = async () => {
    const fleet = await MovingFleet.create();
    await fill(fleet, [acme, follower, kept, late, other]);
    await fill(fleet, upper.slice(0, 2), 1);
    await fleet.pin(kept, 'shard0');
    return fleet;
  };

  it('is counted once at every moment, with the key that a pin keeps at the source', async () => {
    const fleet = await parts();
    const [old, next] = [await boot(fleet.options), remapped(fleet.options)];
    const before = await old.answers();
    const copy = watched(old, before);
    const { id } = await fleet.move({ slots: [slot] }, copy);
    expect(copy.at).toEqual(MOVED);
    await old.close();
    opened.splice(0);
    const moved = await boot(next);
    expect(await moved.answers()).toEqual(before);
    const purge = watched(moved, before);
    await fleet.moves((moves) => moves.purge(id, purge), next);
    expect(purge.at).toEqual(PURGED);
    expect(await moved.answers()).toEqual(before);
    await moved.settled(fleet);
    expect(await moved.leavesOut()).toBe(false);
  });

  it('the same in an application that follows no directory', async () => {
    const fleet = await MovingFleet.create();
    await fill(fleet, [acme, follower, other]);
    const [options, next] = [ignoring(fleet.options), remapped(ignoring(fleet.options))];
    const old = await boot(options);
    const before = await old.answers();
    const copy = watched(old, before);
    const { id } = await fleet.moves((moves) => moves.move(fleet.request({ slots: [slot] }), copy), options);
    expect(copy.at).toEqual(MOVED);
    const moved = await boot(next);
    expect(await moved.leavesOut()).toBe(true);
    expect(await moved.answers()).toEqual(before);
    const purge = watched(moved, before);
    await fleet.moves((moves) => moves.purge(id, purge), next);
    expect(purge.at).toEqual(PURGED);
    expect(await moved.answers()).toEqual(before);
  });

  it('counts a key that is pinned in the middle of the move where the pin says', async () => {
    const fleet = await parts();
    const old = await boot(fleet.options);
    const before = await old.answers();
    await fleet.move({ slots: [slot] });
    await fleet.pin(late, 'shard0');
    await old.settled(fleet);
    expect(await old.answers()).toEqual(before);
    const moved = await boot(remapped(fleet.options)); // all others are at shard1 by now
    expect(await moved.answers()).toEqual(before);
    await fleet.query(0, `insert into bookmarks (id, tenant_id, url) values (77, $1, 'new')`, [late]);
    expect(await moved.repo.countBy({ tenantId: late })).toBe(21);
  });
});
