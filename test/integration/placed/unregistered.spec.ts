import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Column, Entity } from 'typeorm';
import { EmbeddedBitsStrategy, ShardedUuid, ShardIdentifier } from '@app/routing';
import { ShardedEntity, ShardedId, shardedRepositoryToken, type PlacedRepository } from '@app/sharding';
import { expectNoConnections } from '@test/support';
import { listen } from '../../support/deployment.js';
import { RecordedLog } from '../directory/recorded-log.js';
import { scrape, select } from '../metrics/samples.js';
import { Bank, outcome } from './bank.js';
import type { INestApplication } from '@nestjs/common';

@ShardedEntity({ strategy: new EmbeddedBitsStrategy(), unregisteredShard: 'default' })
@Entity('accounts')
class Early {
  @ShardedId({ kind: 'shard' })
  id!: ShardedId<Early>;

  @Column({ type: 'text' })
  owner!: string;
}

let bank: Bank;
let app: INestApplication;
let early: PlacedRepository<Early>;
const log = new RecordedLog();

beforeAll(async () => {
  bank = await Bank.open();
  app = await bank.boot({ entities: [Early] }, { features: [Early] as never, nest: { logger: log } });
  early = app.get(shardedRepositoryToken(Early));
});
beforeEach(() => bank.clear());
afterAll(async () => {
  await bank.stop();
  for (const url of bank.urls) await expectNoConnections(url);
});

it('with "default" member 0 of the group stands in, logged once an identifier and counted', async () => {
  const [near, far] = [ShardIdentifier.of(0, 7), ShardIdentifier.of(1, 9)];
  const ids = [near, near, far].map((identifier) => ShardedUuid.generate<Early>(identifier));
  for (const id of ids) await early.insert({ id, owner: 'x' });
  expect(await bank.where('accounts', 'id')).toEqual({ shard0: ids.slice(0, 2), shard2: [ids[2]] });
  expect(await early.findById(ids[2]!)).toEqual({ id: ids[2], owner: 'x' });
  expect((await early.onPrimary().update(ids[0]!, { owner: 'y' })).affected).toBe(1);
  expect([...early.standIns]).toEqual([
    ['(0,7)', 3],
    ['(1,9)', 2],
  ]);
  expect(log.of('placement')).toEqual([
    'warn: Early: no shard has the identifier (0,7), and shard "shard0" stands in for it: move its rows when the shard comes',
    'warn: Early: no shard has the identifier (1,9), and shard "shard2" stands in for it: move its rows when the shard comes',
  ]);
  const metric = 'sharding_unregistered_shards_total';
  expect(select(await scrape(await listen(app)), metric)).toEqual([
    { name: metric, labels: { entity: 'Early', shard: 'shard0' }, value: 3 },
    { name: metric, labels: { entity: 'Early', shard: 'shard2' }, value: 2 },
  ]);
});

it('a group without shards is an error still: there is nowhere that its data is allowed to live', async () => {
  const id = ShardedUuid.generate<Early>(ShardIdentifier.of(7, 0));
  expect(await outcome(early.findById(id))).toBe('unregistered_shard');
  expect(await outcome(early.insert({ id, owner: 'x' }))).toBe('unregistered_shard');
  expect(await bank.where('accounts', 'id')).toEqual({});
});
