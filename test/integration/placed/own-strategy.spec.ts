import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ShardIdentifier, type ShardingStrategy } from '@app/routing';
import { ShardedEntity, shardedRepositoryToken, type PlacedRepository } from '@app/sharding';
import { CrossShard, type CrossShardRepository } from '@app/sharding';
import { Controller, Get } from '@nestjs/common';
import { expectNoConnections } from '@test/support';
import { call } from '../../support/bookmarks.js';
import { listen } from '../../support/deployment.js';
import { Bank, outcome } from './bank.js';

class CountryStrategy implements ShardingStrategy<Customer> {
  readonly routesById = false;

  ofEntity({ country }: Customer) {
    return ShardIdentifier.of(country === 'MX' ? 1 : 0, 0);
  }

  ofId() {
    return undefined;
  }

  ofQuery(where: { country?: unknown }) {
    const { country } = where;
    return typeof country === 'string' ? ShardIdentifier.of(country === 'MX' ? 1 : 0, 0) : undefined;
  }
}

@ShardedEntity({ strategy: new CountryStrategy() })
@Entity('customers')
class Customer {
  @PrimaryColumn({ type: 'text' })
  id!: string;

  @Column({ type: 'text' })
  country!: string;
}

/** Answers with what is no place. */
class WrongStrategy {
  readonly routesById = true;
  ofEntity(): never {
    return 'shard0' as never;
  }
  ofId(): never {
    return null as never;
  }
}

@ShardedEntity({ strategy: new WrongStrategy() })
@Entity('devices')
class Gadget {
  @PrimaryColumn({ type: 'text' })
  id!: string;

  @Column({ type: 'text' })
  model!: string;
}

@Controller('customers')
class CustomersController {
  @Get()
  all(@CrossShard(Customer) customers: CrossShardRepository<Customer>) {
    return customers.find({ order: { id: 'ASC' } });
  }
}

let bank: Bank;

beforeAll(async () => {
  bank = await Bank.open();
});
afterAll(async () => {
  await bank.stop();
  for (const url of bank.urls) await expectNoConnections(url);
});

it('a strategy of one’s own places rows, whoever reads them', async () => {
  const app = await bank.boot(
    { entities: [Customer, Gadget], crossShardAccess: () => true },
    { features: [Customer, Gadget] as never, controllers: [CustomersController] },
  );
  const customers = app.get<PlacedRepository<Customer>>(shardedRepositoryToken(Customer));
  await customers.insert({ id: '42', country: 'MX' });
  await customers.insert({ id: '43', country: 'DE' });
  expect(await bank.where('customers', 'id')).toEqual({ shard0: ['43'], shard2: ['42'] });
  expect(await customers.find({ where: { country: 'MX' } })).toEqual([{ id: '42', country: 'MX' }]);
  expect(await customers.findById('42', { scatter: true })).toEqual({ id: '42', country: 'MX' });
  expect(await call(`${await listen(app)}/customers`)).toMatchObject({
    status: 200,
    body: [
      { id: '42', country: 'MX' },
      { id: '43', country: 'DE' },
    ],
  });

  const gadgets = app.get<PlacedRepository<Gadget>>(shardedRepositoryToken(Gadget));
  await expect(gadgets.insert({ id: '1', model: 'x' })).rejects.toMatchObject({
    code: 'no_placement',
    message:
      'the strategy of Gadget answered with what is no place: answer with a ShardIdentifier, { group, slot } or undefined',
  });
  expect(await outcome(gadgets.findById('1'))).toBe('no_placement');
});
