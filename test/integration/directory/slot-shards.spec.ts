import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Column, Entity } from 'typeorm';
import { HashRouter, slotOf, SlotStrategy, SlotUuid } from '@app/routing';
import {
  DirectoryConnection,
  DirectoryRouter,
  Pins,
  PlacedRepository,
  ShardedEntity,
  ShardedId,
  shardedRepositoryToken,
  ShardedRepository,
  ShardingModule,
} from '@app/sharding';
import { runOnce } from '../../support/admin-query.js';
import { Bank, ENTITIES, outcome, shardsOf, Wallet } from '../placed/bank.js';
import type { INestApplication } from '@nestjs/common';
import type { RoutingKey, ShardRouter, Topology } from '@app/routing';

/** In the slot that its id names, whoever's it is. */
@ShardedEntity({ strategy: new SlotStrategy() })
@Entity('lockers')
class Box {
  @ShardedId()
  id!: ShardedId<Box>;

  @Column({ type: 'text' })
  owner!: string;
}

/** `whale-corp` on shard1, wherever its slot is; all others by the slot map. */
class WhaleRouter extends HashRouter {
  override route(key: RoutingKey, topology: Topology, group?: number) {
    return key === WHALE ? topology.byName('shard1') : super.route(key, topology, group);
  }

  override shardsOfSlot(slot: number, topology: Topology) {
    return slot === slotOf(WHALE) ? [topology.byName('shard1')] : [];
  }
}

const WHALE = 'whale-corp';

/** Another key of the same slot. */
function sameSlot(key: string): string {
  for (let n = 0; ; n++) if (slotOf(`other-${n}`) === slotOf(key)) return `other-${n}`;
}

let bank: Bank;

beforeAll(async () => {
  bank = await Bank.open();
});
beforeEach(() => bank.clear());
afterAll(() => bank.stop());

const boot = (router?: (connection: DirectoryConnection) => ShardRouter, snapshotMax = 1000) =>
  bank.boot(
    {
      database: { directorySnapshotMax: snapshotMax },
      entities: [...ENTITIES, Box],
      ...(router && ({ router: { inject: [DirectoryConnection], useFactory: router } } as object)),
    },
    { imports: [ShardingModule.forFeature([Box])] },
  );

const wallets = (app: INestApplication) => app.get<ShardedRepository<Wallet>>(shardedRepositoryToken(Wallet));
const boxes = (app: INestApplication) => app.get<PlacedRepository<Box>>(shardedRepositoryToken(Box));

describe('where a router sends a key elsewhere than to the owner of its slot', () => {
  it.each<[string, (connection: DirectoryConnection) => ShardRouter]>([
    ['by itself', () => new WhaleRouter()],
    ['behind a directory', (connection) => new DirectoryRouter(connection, { fallback: new WhaleRouter() })],
  ])('an id leads there without a tenant: %s', async (_how, router) => {
    const app = await boot(router);
    expect(shardsOf(app).topology.shardOf(WHALE).name).toBe('shard0');
    const wallet = await wallets(app).for(WHALE).save({ owner: 'ann' });
    expect(await bank.where('wallets', 'owner')).toEqual({ shard1: ['ann'] });
    expect(await wallets(app).findById(wallet.id)).toMatchObject({ owner: 'ann' });
    expect(await wallets(app).findById(SlotUuid.generate<Wallet>(WHALE))).toBeNull();
  });
});

describe('where a row of the directory names a shard that is not configured', () => {
  const pin = (shard: string) =>
    runOnce(
      bank.control,
      `insert into _sharding_directory (routing_key, shard_name) values ('acme', $1), ('globex', 'shard1')
       on conflict (routing_key) do update set shard_name = excluded.shard_name`,
      [shard],
    );

  it.each([
    ['all pins are in memory', 1000],
    ['each key is looked up', 1],
  ])('what is not found in its slot may be there (%s)', async (_mode, snapshotMax) => {
    await pin('gone');
    const app = await boot(undefined, snapshotMax);
    const [there, copy, missing] = Array.from({ length: 3 }, () => SlotUuid.generate<Wallet>('acme'));
    await bank.query(0, `insert into wallets values ($1, $2, 'ann', 1)`, [there, sameSlot('acme')]);
    await bank.query(0, `insert into wallets values ($1, 'acme', 'bob', 1)`, [copy]);
    expect(await wallets(app).findById(there!)).toMatchObject({ owner: 'ann' });
    await expect(wallets(app).findById(copy!)).rejects.toMatchObject({ code: 'invalid_pin' }); // perhaps an old one
    await expect(wallets(app).findById(missing!)).rejects.toMatchObject({
      code: 'invalid_pin',
      message: `the row may be on shard "gone", which the directory names for a key of slot ${slotOf('acme')} and which is not configured: correct the row of the key`,
    });
    expect(await wallets(app).findById(SlotUuid.generate<Wallet>('globex'))).toBeNull();
    await app.get(Pins).unpin('acme');
    expect(await wallets(app).findById(missing!)).toBeNull();
  });

  it('a repository with a strategy answers nothing of that slot as if it were all', async () => {
    await pin('gone');
    const app = await boot();
    const id = () => SlotUuid.generate<Box>('acme');
    const [there, missing] = [id(), id()];
    await bank.query(0, `insert into lockers values ($1, 'ann')`, [there]);
    const repository = boxes(app);
    const whole = { id: there, owner: 'ann' };
    expect([
      await repository.findById(there),
      await repository.findOneBy({ id: there }),
      await repository.existsById(there),
      (await repository.update(there, { owner: 'bob' })).affected,
      (await repository.delete(there)).affected,
    ]).toEqual([whole, whole, true, 1, 1]);
    const calls: (() => Promise<unknown>)[] = [
      () => repository.findById(missing),
      () => repository.findByIdOrFail(missing),
      () => repository.existsById(missing),
      () => repository.findByIds([missing]),
      () => repository.findOneBy({ id: missing }),
      () => repository.findBy({ id: missing }),
      () => repository.count({ where: { id: missing } }),
      () => repository.update(missing, { owner: 'bob' }),
      () => repository.delete(missing),
    ];
    const outcomes = await Promise.all(calls.map((call) => outcome(call())));
    expect(outcomes).toEqual(calls.map(() => 'invalid_pin'));
    const other = SlotUuid.generate<Box>('globex');
    expect([await repository.findById(other), await repository.count({ where: { id: other } })]).toEqual([
      null,
      0,
    ]);
  });
});
