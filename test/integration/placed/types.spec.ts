import { expect, it } from '@jest/globals';
import { EmbeddedBitsStrategy, SlotUuid } from '@app/routing';
import { ShardedEntity, type IdOf, type PlacedRepository, type ShardedRepository } from '@app/sharding';
import { Account, Customer, Device, Reading, Wallet, type Receipt } from './bank.js';
import type { ShardedId } from '@app/sharding';
import type { Place, ShardingStrategy } from '@app/routing';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function holds<_T extends true>(): void {}

/** Its id has another name. */
interface Badge {
  readonly code: ShardedId<Badge>;
  readonly wallet: ShardedId<Wallet>;
}

it('takes the id of the entity and no other', () => {
  holds<Equal<IdOf<Wallet>, ShardedId<Wallet>>>();
  holds<Equal<IdOf<Badge>, ShardedId<Badge>>>();
  holds<Equal<IdOf<Reading>, number>>();
  holds<Equal<IdOf<{ readonly name: string }>, string>>();
  const calls = (
    wallets: ShardedRepository<Wallet>,
    accounts: PlacedRepository<Account>,
    readings: PlacedRepository<Reading>,
    ids: { wallet: ShardedId<Wallet>; account: ShardedId<Account>; receipt: ShardedId<Receipt> },
  ) => {
    void wallets.findById(ids.wallet);
    void wallets.findById(SlotUuid.parse<Wallet>('text'));
    // @ts-expect-error the id of an account finds no wallet
    void wallets.findById(ids.account);
    // @ts-expect-error the id of a receipt finds no wallet
    void wallets.findById(ids.receipt);
    // @ts-expect-error text from outside is no id before it is parsed
    void wallets.findById('0193a5b7-c000-8000-8000-123456789abc');
    void accounts.findByIds([ids.account]);
    // @ts-expect-error the id of a wallet finds no account
    void accounts.findByIds([ids.wallet]);
    // @ts-expect-error the id of a wallet deletes no account
    void accounts.existsById(ids.wallet);
    // @ts-expect-error ids of this entity are numbers
    void readings.findByIdOrFail('2021003');
  };
  expect(calls).toBeInstanceOf(Function);
});

it('takes a strategy of the entity, or a tenant column', () => {
  class ByCountry implements ShardingStrategy<Customer> {
    readonly routesById = false;
    ofEntity(_customer: Customer): Place | undefined {
      return undefined;
    }
    ofId(): undefined {}
  }
  const declare = () => {
    // @ts-expect-error a device has no country
    ShardedEntity({ strategy: new ByCountry() })(Device);
    ShardedEntity({ strategy: new ByCountry() })(class extends Customer {});
    ShardedEntity({ strategy: ByCountry })(class extends Customer {});
    ShardedEntity({ strategy: new EmbeddedBitsStrategy() })(class extends Device {});
    // @ts-expect-error rows are placed by their tenant or by a strategy
    ShardedEntity({ tenantColumn: 'tenantId', strategy: new EmbeddedBitsStrategy() })(Device);
    // @ts-expect-error a shard that is not there is of no concern to tenants
    ShardedEntity({ tenantColumn: 'tenantId', unregisteredShard: 'default' })(Device);
    // @ts-expect-error neither
    ShardedEntity({ reads: 'primary' })(Device);
  };
  expect(declare).toBeInstanceOf(Function);
});
