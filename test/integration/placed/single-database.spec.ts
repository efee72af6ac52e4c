import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { NoShardingStrategy, ShardedUuid, ShardIdentifier, slotOf, SlotUuid } from '@app/routing';
import {
  ShardedEntity,
  shardedRepositoryToken,
  ShardingModule,
  type PlacedRepository,
  type ShardedRepository,
} from '@app/sharding';
import { expectNoConnections, TestCluster } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import { bootApp } from '../../support/deployment.js';
import { Account, Bank, outcome, Reading, TABLES, Wallet, Receipt } from './bank.js';
import type { INestApplication } from '@nestjs/common';

@ShardedEntity({ strategy: new NoShardingStrategy() })
@Entity('customers')
class Setting {
  @PrimaryColumn({ type: 'text' })
  id!: string;

  @Column({ type: 'text' })
  country!: string;
}

const ENTITIES = [Setting, Account, Wallet, Receipt, Reading];

let url: string;
let app: INestApplication;
let bank: Bank;

beforeAll(async () => {
  url = await TestCluster.attach().createDatabase({ label: 'single' });
  await runOnce(url, TABLES);
  const imports = [ShardingModule.forFeature(ENTITIES)];
  app = await bootApp({ database: { primaryUrl: url }, entities: ENTITIES }, { imports });
  bank = await Bank.open();
});
afterAll(async () => {
  await app.close();
  await bank.stop();
  for (const each of [url, ...bank.urls]) await expectNoConnections(each);
});

/** Everything that an application does with a setting. */
async function use(settings: PlacedRepository<Setting>): Promise<unknown[]> {
  await settings.insert([
    { id: 'a', country: 'DE' },
    { id: 'b', country: 'MX' },
  ]);
  await settings.save({ id: 'c', country: 'FR' });
  await settings.update({ country: 'MX' }, { country: 'BR' });
  return [
    await settings.findById('a'),
    await settings.findByIds(['c', 'b']),
    await settings.find({ order: { id: 'DESC' }, take: 1 }),
    await settings.count(),
    await settings.existsById('x'),
    (await settings.delete(['a', 'b', 'c'])).affected,
  ];
}

const answers = [
  { id: 'a', country: 'DE' },
  [
    { id: 'c', country: 'FR' },
    { id: 'b', country: 'BR' },
  ],
  [{ id: 'c', country: 'FR' }],
  3,
  false,
  3,
];

it('without sharding everything is at (0,0), with one database and with three', async () => {
  expect(await use(app.get(shardedRepositoryToken(Setting)))).toEqual(answers);
  const sharded = await bank.boot({ entities: [Setting] }, { features: [Setting] as never });
  expect(await use(sharded.get(shardedRepositoryToken(Setting)))).toEqual(answers);
});

it('ids and strategies work on the only database, and name nothing else', async () => {
  const accounts = app.get<PlacedRepository<Account>>(shardedRepositoryToken(Account));
  const id = ShardedUuid.generate<Account>(ShardIdentifier.DEFAULT);
  await accounts.insert({ id, owner: 'ann' });
  expect(await accounts.findById(id)).toEqual({ id, owner: 'ann' });
  expect(await accounts.findBy({ owner: 'ann' }, { scatter: true })).toEqual([{ id, owner: 'ann' }]);
  const elsewhere = ShardedUuid.generate<Account>(ShardIdentifier.of(0, 1));
  expect(await outcome(accounts.findById(elsewhere))).toBe('unregistered_shard');

  const wallets = app.get<ShardedRepository<Wallet>>(shardedRepositoryToken(Wallet));
  const wallet = await wallets.for('acme').save({ owner: 'ann' });
  expect(SlotUuid.slot(wallet.id)).toBe(slotOf('acme'));
  expect(await wallets.findById(wallet.id)).toEqual({ ...wallet, amount: 0 });
});
