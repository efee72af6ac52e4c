import { beforeAll, expect, it } from '@jest/globals';
import { slotOf } from '@app/routing';
import { auditedFleet, fill, OF_0 } from './audited.js';
import { companions } from './scattered.js';
import type { ShardingOptions } from '@app/sharding';
import type { MovingFleet } from '../../support/moving-fleet.js';

/** Keys that are pinned to a shard which their slot has left by a move. */
let fleet: MovingFleet;
let moved: ShardingOptions;
let move: string;
const [acme = ''] = OF_0;
const slot = slotOf(acme);
const [late = '', later = '', kept = ''] = companions(acme, 3);

beforeAll(async () => {
  fleet = await auditedFleet();
  moved = without(slot, fleet.options);
  await fill(fleet, 0, [acme, kept]);
  await fleet.pin(kept, 'shard0');
  ({ id: move } = await fleet.move({ slots: [slot] }));
  await fleet.moves((moves) => moves.purge(move), moved);
});

/** The slot belongs to the other shard. */
function without(gone: number, { database, ...options }: ShardingOptions): ShardingOptions {
  const slots = [
    [`0-${gone - 1}`, `${gone + 1}-8191`],
    [String(gone), '8192-16383'],
  ];
  const shards = database?.shards?.map((shard, index) => ({ ...shard, slots: slots[index] ?? [] }));
  return { ...options, database: { ...database, ...(shards && { shards }) } };
}

const repair = async (mode: 'dry-run' | 'apply') =>
  (await fleet.moves((moves) => moves.repair({}, { mode, by: 'test' }), moved)).steps.map(
    ({ what, outcome, shard, message }) => `${what} ${outcome} ${shard}: ${message}`,
  );
const found = async () => (await fleet.moves((moves) => moves.audit(), moved)).findings;
const write = (key: string) =>
  fleet.query(
    0,
    `insert into bookmarks (id, tenant_id, url) values (9000000 + random() * 1000000, $1, 'x')`,
    [key],
  );
const refused = { code: 'SHM01' };

it('is found, told by key, and mended without a hole for others', async () => {
  expect(await found()).toEqual([]);
  await fleet.pin(late, 'shard0');
  await expect(write(late)).rejects.toMatchObject(refused);
  expect(await found()).toEqual([
    {
      kind: 'leftover',
      leftover: 'refused-pin',
      severity: 'error',
      shard: 'shard0',
      key: late,
      move,
      message: 'a key is pinned here, and its slot had left by a move before: its writes are refused',
      remedy: 'shardctl repair makes it an exception of its slot',
    },
  ]);
  expect(await repair('dry-run')).toEqual([
    'admit planned shard0: admits keys that are pinned here, of slots that have left',
  ]);
  await expect(write(late)).rejects.toMatchObject(refused);
  expect(await repair('apply')).toEqual([
    'admit done shard0: admitted keys that are pinned here, of slots that have left: 1',
  ]);
  await write(late);
  await expect(write(later)).rejects.toMatchObject(refused);
  await expect(write(acme)).rejects.toMatchObject(refused);
  await write(kept);
  expect(await found()).toEqual([]);
});

it('is admitted by who pins it, once', async () => {
  const admit = () => fleet.moves((moves) => moves.admit(later, 'shard0'), moved);
  expect(await admit()).toBe(false); // it is not pinned
  await fleet.pin(later, 'shard0');
  expect(await admit()).toBe(true);
  expect(await admit()).toBe(false);
  await write(later);
  await expect(write(acme)).rejects.toMatchObject(refused);
});

it('is left to the move while its slot is on the way', async () => {
  const [another = ''] = OF_0.filter((key) => slotOf(key) !== slot);
  const [newcomer = ''] = companions(another, 1);
  const next = without(slotOf(another), fleet.options);
  await fill(fleet, 0, [another]);
  const { id } = await fleet.move({ slots: [slotOf(another)] });
  const pinned = async (point: string) => {
    if (point !== 'tombstones-set') return;
    await fleet.pin(newcomer, 'shard0');
    expect(await fleet.moves((moves) => moves.admit(newcomer, 'shard0'), next)).toBe(false);
  };
  await expect(fleet.moves((moves) => moves.purge(id, { reached: pinned }), next)).rejects.toMatchObject({
    code: 'move_refused',
    message: expect.stringContaining('pins of these slots came or went'),
  });
});
