import { beforeEach, describe, expect, it } from '@jest/globals';
import { slotOf } from '@app/routing';
import { waitFor } from '@test/support';
import { withClient } from '../../support/admin-query.js';
import { MovingFleet } from '../../support/moving-fleet.js';
import { outcomeOf } from './fence-shard.js';
import { companions, upper } from './scattered.js';
import type { MoveOptions, MovePoint } from '@app/sharding/operator';
import type { ShardingOptions } from '@app/sharding';

/** Nobody writes moving keys at the destination while their rows come there; an abort leaves it as it was. */
let fleet: MovingFleet;
const [acme = '', other = ''] = Array.from({ length: 50 }, (_, index) => `tenant-${index}`).filter(
  (key) => slotOf(key) < 8192,
);
const [theirs = ''] = upper;
const slot = slotOf(acme);
const [companion = '', pinned = ''] = companions(acme, 2);
const REFUSED = 'SHM01';
/** From the moment on that nobody writes there to the last one before somebody may. */
const CLOSED: MovePoint[] = [
  'destination-closed',
  'sequences-raised',
  'rows-copied',
  'copy-committed',
  'copied',
  'fence-raised',
  'fenced',
];

beforeEach(async () => {
  fleet = await MovingFleet.create();
  await fill(0, acme, companion);
});

let id = 1_000_000;
const fill = async (place: number, ...keys: string[]) => {
  for (const key of keys) for (let n = 0; n < 5; n++) expect(await write(place, key)).toBe('ok');
};
const write = (place: number, key: string) =>
  outcomeOf(
    fleet.query(place, `insert into bookmarks (id, tenant_id, url) values ($1, $2, 'w')`, [id++, key]),
  );
const fence = (place: number) =>
  fleet.query(place, 'select subject, state, move_id, epoch, other_shard from _sharding_fence order by 1');
const guards = (place: number) =>
  fleet.query(
    place,
    `select tgname from pg_trigger where tgrelid = 'bookmarks'::regclass and tgname ~ 'fence'`,
  );
const openMove = async () => {
  const open = `select id::text as id from _sharding_moves where state not in ('purged', 'aborted')`;
  return String((await fleet.query('control', open))[0]?.['id']);
};
const again: MoveOptions = { leaseMs: 300 };
const crashAt = (at: string): MoveOptions => ({
  leaseMs: 300,
  reached: (point) => {
    if (point === at) throw new Error(`the mover died at ${at}`);
  },
});

it('refuses the key to others from before the copy until it may be routed there', async () => {
  const seen: [string, string, string][] = [];
  const reached = async (point: MovePoint) => {
    if (CLOSED.includes(point)) seen.push([point, await write(1, acme), await write(1, other)]);
  };
  await fleet.move({ keys: [acme], writes: 'fenced' }, { reached });
  expect(seen).toEqual(CLOSED.map((point) => [point, REFUSED, 'ok']));
  expect([await fence(1), await guards(1)]).toEqual([[], []]);
  expect(await write(1, acme)).toBe('ok');
});

it('refuses who writes by an older snapshot, and TRUNCATE', async () => {
  await withClient(fleet.shards[1]!, async (old) => {
    const reached = async (point: string) => {
      if (point === 'planned') {
        await old.query('begin isolation level repeatable read');
        await old.query('select from bookmarks');
      }
      if (point !== 'copy-committed') return;
      const late = old.query(`insert into bookmarks (id, tenant_id, url) values (7, $1, 'w')`, [acme]);
      expect(await outcomeOf(late)).toBe('40001');
      await old.query('rollback');
      expect(await outcomeOf(fleet.query(1, 'truncate bookmarks'))).toBe(REFUSED);
    };
    expect(await fleet.move({ keys: [acme] }, { reached })).toMatchObject({ state: 'verified' });
  });
});

it('waits for who was writing there before, and finds what came of it', async () => {
  const gone = { keys: [theirs], from: 'shard1', to: 'shard0' };
  await fleet.move(gone);
  await fleet.pin(theirs, 'shard0');
  await fleet.confirm(gone); // its tombstone: the triggers are there, which nobody could make beside a writer
  await withClient(fleet.shards[1]!, async (writer) => {
    let ended = false;
    const seen: boolean[] = [];
    const reached = async (point: string) => {
      if (point === 'planned') {
        await writer.query('begin');
        await writer.query(`insert into bookmarks (id, tenant_id, url) values (7, $1, 'w')`, [acme]);
      }
      if (point === 'destination-closed') seen.push(ended);
    };
    const moving = outcomeOf(fleet.move({ keys: [acme] }, { reached }));
    const closed = async () => (await fence(1)).length > 1;
    await waitFor(closed, { what: 'the destination to refuse the key', timeoutMs: 10_000 });
    ended = true;
    await writer.query('commit');
    expect([await moving, seen]).toEqual(['move_mismatch', [true]]);
  });
});

it('lets a mover write that has claimed its side, and nobody else by what it says', async () => {
  const reached = async (point: string) => {
    if (point !== 'copied') return;
    await withClient(fleet.shards[1]!, async (stranger) => {
      await stranger.query(`select set_config('nestjs_sharding.move', gen_random_uuid() || ':1', false)`);
      const insert = `insert into bookmarks (id, tenant_id, url) values (8, $1, 'w')`;
      expect(await outcomeOf(stranger.query(insert, [acme]))).toBe(REFUSED);
      await stranger.query('begin');
      await stranger.query(`select set_config('nestjs_sharding.claimed', 'yes', true)`);
      await stranger.query('rollback'); // an empty text is left of it
      expect(await outcomeOf(stranger.query(insert, [acme]))).toBe(REFUSED);
    });
  };
  await fleet.move({ keys: [acme] }, { reached });
});

describe('a whole slot', () => {
  it('is refused, but for the key that a pin keeps there', async () => {
    await fleet.pin(pinned, 'shard1');
    await fill(1, pinned);
    const seen: string[] = [];
    const reached = async (point: MovePoint) => {
      expect([await write(1, pinned), await write(1, other)]).toEqual(['ok', 'ok']);
      if (CLOSED.includes(point)) seen.push(await write(1, acme), await write(1, companion));
    };
    await fleet.move({ slots: [slot] }, { reached });
    expect([seen.length, new Set(seen)]).toEqual([10, new Set([REFUSED])]);
    expect(await fence(1)).toEqual([]);
  });

  it('comes without the tombstones of its keys', async () => {
    await fleet.move({ keys: [acme] });
    await fleet.pin(acme, 'shard1');
    await fleet.confirm({ keys: [acme] });
    await fleet.move({ keys: [acme], from: 'shard1', to: 'shard0' });
    await fleet.pin(acme, 'shard0');
    await fleet.confirm({ keys: [acme], from: 'shard1', to: 'shard0' });
    expect(await write(1, acme)).toBe(REFUSED);
    await fleet.query('control', 'delete from _sharding_directory');
    const { id: move } = await fleet.move({ slots: [slot] });
    expect([await write(0, acme), await fence(1)]).toEqual(['ok', []]);
    await fleet.move({ slots: [slot] });
    await abort(move);
    expect(await write(1, acme)).toBe(REFUSED);
  });
});

const back = (options?: MoveOptions) =>
  fleet.move({ from: 'shard1', to: 'shard0', keys: [acme] }, { ...again, ...options });
const abort = (move: string, options: MoveOptions = again, by?: ShardingOptions) =>
  fleet.moves((moves) => moves.abort(move, options), by);

describe('an abort', () => {
  it('leaves nothing where there was nothing', async () => {
    const { id: move } = await fleet.move({ keys: [acme] });
    await abort(move);
    await expect(fleet.move({ keys: [acme] }, crashAt('copied'))).rejects.toThrow('died');
    expect(await write(1, acme)).toBe(REFUSED);
    await abort(await openMove());
    expect([await fence(1), await guards(1), await write(1, acme)]).toEqual([[], [], 'ok']);
  });

  it.each(['destination-closed', 'copy-committed', 'verified'])(
    'of a return that came to %s puts the tombstone back',
    async (point) => {
      await fleet.move({ keys: [acme] });
      await fleet.pin(acme, 'shard1');
      await fleet.confirm({ keys: [acme] });
      const tombstone = await fence(0);
      await expect(back(crashAt(point))).rejects.toThrow('died');
      await expect(abort(await openMove(), crashAt('copy-removed'))).rejects.toThrow('died');
      await abort(await openMove());
      expect([await fence(0), await write(0, acme), await write(1, acme)]).toEqual([
        tombstone,
        REFUSED,
        'ok',
      ]);
    },
  );

  it('of a return that copied twice puts the tombstone back; one that is purged does not', async () => {
    await fleet.move({ keys: [acme] });
    await fleet.pin(acme, 'shard1');
    await fleet.confirm({ keys: [acme] });
    const tombstone = await fence(0);
    await back();
    await fill(1, acme);
    await abort((await back()).id);
    expect(await fence(0)).toEqual(tombstone);
    await back();
    await fleet.pin(acme, 'shard0');
    await fleet.confirm({ keys: [acme], from: 'shard1', to: 'shard0' });
    expect([await fence(0), await write(0, acme), await write(1, acme)]).toEqual([[], 'ok', REFUSED]);
  });

  it('of a slot that returns puts back its exceptions too', async () => {
    await fleet.pin(pinned, 'shard0');
    await fill(0, pinned);
    const next = remapped(fleet.options);
    const { id: there } = await fleet.move({ slots: [slot] });
    await fleet.moves((moves) => moves.purge(there), next);
    const before = await fence(0);
    expect(before.map(({ subject, state }) => [subject, state])).toEqual([
      [`key:${pinned}`, 'kept'],
      [`slot:${slot}`, 'moved'],
    ]);
    const request = fleet.request({ slots: [slot], from: 'shard1', to: 'shard0' });
    const { id: home } = await fleet.moves((moves) => moves.move(request), next);
    expect(await fence(0)).toEqual([]);
    await abort(home, again, next);
    expect(await fence(0)).toEqual(before);
    expect([await write(0, pinned), await write(0, acme)]).toEqual(['ok', REFUSED]);
  });
});

function remapped({ database, ...options }: ShardingOptions): ShardingOptions {
  const slots = [
    [`0-${slot - 1}`, `${slot + 1}-8191`],
    [String(slot), '8192-16383'],
  ];
  const shards = database?.shards?.map((shard, index) => ({ ...shard, slots: slots[index] ?? [] }));
  return { ...options, database: { ...database, ...(shards && { shards }) } };
}

it('is opened by a purge, where a mover has died that began to copy once more', async () => {
  await fleet.move({ keys: [acme] });
  const change = (url: string) =>
    fleet.query(0, 'update bookmarks set url = $2 where tenant_id = $1', [acme, url]);
  await change('new');
  await expect(fleet.move({ keys: [acme] }, crashAt('rows-copied'))).rejects.toThrow('died');
  await change('w'); // what was verified
  await fleet.pin(acme, 'shard1');
  expect(await write(1, acme)).toBe(REFUSED);
  expect(await fleet.confirm({ keys: [acme] }, again)).toMatchObject({ state: 'purged' });
  expect([await write(1, acme), await fence(1)]).toEqual(['ok', []]);
});
