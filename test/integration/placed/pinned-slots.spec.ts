import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Column, Entity } from 'typeorm';
import { slotOf, SlotStrategy, SlotUuid } from '@app/routing';
import { ShardedEntity, ShardedId, shardedRepositoryToken, type PlacedRepository } from '@app/sharding';
import { expectNoConnections } from '@test/support';
import { Bank, outcome } from './bank.js';
import type { INestApplication } from '@nestjs/common';
import type { SlotPlace } from '@app/routing';

/** Written by its owner's key, and found by the slot in its id. */
class OwnerStrategy extends SlotStrategy<Box> {
  override ofEntity({ id, owner }: Box): SlotPlace | undefined {
    return owner === undefined ? this.ofId(id) : { group: 0, slot: slotOf(owner), key: owner };
  }
}

@ShardedEntity({ strategy: new OwnerStrategy() })
@Entity('lockers')
class Box {
  @ShardedId()
  id!: ShardedId<Box>;

  @Column({ type: 'text' })
  owner!: string;
}

let bank: Bank;
let app: INestApplication;
let boxes: PlacedRepository<Box>;
/** Rows of one slot: on its owner shard0, and on shard1, to which the key was pinned then. */
let here: Box['id'];
let there: Box['id'];

beforeAll(async () => {
  bank = await Bank.open();
  app = await bank.boot({ entities: [Box] }, { features: [Box] as never });
  boxes = app.get(shardedRepositoryToken(Box));
});
beforeEach(async () => {
  await bank.clear();
  await bank.unpin(app);
  here = (await boxes.save({ owner: 'acme' })).id;
  await bank.pin(app, 'acme', 'shard1');
  there = (await boxes.save({ owner: 'acme' })).id;
});
afterAll(async () => {
  await bank.stop();
  for (const url of bank.urls) await expectNoConnections(url);
});

it('an id is looked for at the owner of its slot and where keys of the slot are pinned', async () => {
  expect(await bank.where('lockers', 'id')).toEqual({ shard0: [here], shard1: [there] });
  expect(await boxes.findByIds([there, here])).toEqual([
    { id: there, owner: 'acme' },
    { id: here, owner: 'acme' },
  ]);
  expect([await boxes.findById(here), await boxes.findById(there)]).toEqual([
    { id: here, owner: 'acme' },
    { id: there, owner: 'acme' },
  ]);
  expect([await boxes.existsById(there), await boxes.existsById(SlotUuid.generate('acme'))]).toEqual([
    true,
    false,
  ]);
  expect(await boxes.count({ where: { id: there } })).toBe(1);
  const ordered = boxes.find({ where: { id: there }, order: { owner: 'ASC' } });
  expect(await outcome(ordered)).toBe('cross_shard_unsupported');
});

it('a row is changed and deleted where it is', async () => {
  expect((await boxes.update(there, { owner: 'x' })).affected).toBe(1);
  expect((await boxes.update({ id: here }, { owner: 'y' })).affected).toBe(1);
  expect(await bank.where('lockers', 'owner')).toEqual({ shard0: ['y'], shard1: ['x'] });
  expect((await boxes.delete(there)).affected).toBe(1);
  expect((await boxes.delete(SlotUuid.generate<Box>('acme'))).affected).toBe(0);
  expect(await bank.where('lockers', 'owner')).toEqual({ shard0: ['y'] });
});

it('a row that is saved without its key is saved where it is', async () => {
  await boxes.save([{ id: there }]);
  await boxes.save({ id: here });
  expect(await bank.where('lockers', 'id')).toEqual({ shard0: [here], shard1: [there] });
});

it('a row whose key was pinned elsewhere since it was loaded is placement_changed', async () => {
  const loaded = (await boxes.findById(here))!;
  expect(await outcome(boxes.save(loaded))).toBe('placement_changed');
  expect(await bank.where('lockers', 'id')).toEqual({ shard0: [here], shard1: [there] });
});
