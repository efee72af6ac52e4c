import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Inject, Param } from '@nestjs/common';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import {
  EmbeddedBitsStrategy,
  NoShardingStrategy,
  ShardedUuid,
  ShardIdentifier,
  SlotUuid,
} from '@app/routing';
import { InjectShardedRepository, PlacedRepository, ShardedEntity, ShardedRepository } from '@app/sharding';
import { expectNoConnections } from '@test/support';
import { call } from '../../support/bookmarks.js';
import { listen } from '../../support/deployment.js';
import { Account, Bank, Receipt, Wallet } from './bank.js';

class AccountRepository extends PlacedRepository<Account> {
  static readonly entity = Account;

  async ownerOf(id: Account['id']): Promise<string> {
    return (await this.findByIdOrFail(id)).owner;
  }
}

@Controller()
class BankController {
  constructor(
    @InjectShardedRepository(Account) private readonly accounts: PlacedRepository<Account>,
    @Inject(AccountRepository) private readonly custom: AccountRepository,
    @InjectShardedRepository(Wallet) private readonly wallets: ShardedRepository<Wallet>,
  ) {}

  @Get('accounts/:id')
  async account(@Param('id') id: string) {
    const account = ShardedUuid.parse<Account>(id);
    const found = await this.accounts.findById(account);
    return { found, owner: await this.custom.onPrimary().ownerOf(account) };
  }

  @Get('wallets/:id')
  async wallet(@Param('id') id: string) {
    return { found: await this.wallets.findById(SlotUuid.parse<Wallet>(id)) };
  }
}

let bank: Bank;

beforeAll(async () => {
  bank = await Bank.open();
});
afterEach(() => bank.stop());
afterAll(async () => {
  for (const url of bank.urls) await expectNoConnections(url);
});

it('repositories are injected by their entity, or as a class of one’s own, and answer over HTTP', async () => {
  const features = [Account, AccountRepository, Wallet] as never;
  const app = await bank.boot({}, { features, controllers: [BankController] });
  const url = await listen(app);
  const id = ShardedUuid.generate<Account>(ShardIdentifier.of(1, 0));
  const account = { id, owner: 'ann' };
  await app.get(AccountRepository).insert({ ...account });
  expect(await call(`${url}/accounts/${id}`)).toMatchObject({
    status: 200,
    body: { found: account, owner: 'ann' },
  });
  const unknown = ShardedUuid.generate<Account>(ShardIdentifier.of(9, 9));
  expect(await call(`${url}/accounts/${unknown}`)).toMatchObject({
    status: 404,
    body: {
      statusCode: 404,
      code: 'unregistered_shard',
      message:
        'no shard has the identifier (9,9): group 9 has no shards; configure it, or check where the id comes from',
    },
  });
  expect(await call(`${url}/wallets/text`)).toMatchObject({ status: 400, body: { code: 'invalid_id' } });

  const wallet = SlotUuid.generate<Wallet>('acme');
  await bank.query(0, `insert into wallets values ($1, 'acme', 'ann', 1)`, [wallet]);
  const found = { id: wallet, tenantId: 'acme', owner: 'ann', amount: 1 };
  expect(await call(`${url}/wallets/${wallet}`)).toMatchObject({ body: { found } });
  expect(await call(`${url}/wallets/${wallet}`, { tenant: 'acme' })).toMatchObject({ body: { found } });
  expect(await call(`${url}/wallets/${wallet}`, { tenant: 'globex' })).toMatchObject({
    body: { found: null },
  });
});

describe('a boot is refused', () => {
  @ShardedEntity({ tenantColumn: 'id', strategy: new NoShardingStrategy() } as never)
  @Entity('both')
  class Both {
    @PrimaryColumn({ type: 'text' })
    id!: string;
  }

  @ShardedEntity({} as never)
  @Entity('neither')
  class Neither {
    @PrimaryColumn({ type: 'text' })
    id!: string;
  }

  @ShardedEntity({ strategy: new EmbeddedBitsStrategy() })
  @Entity('unknown')
  class Unknown {
    @PrimaryColumn({ type: 'text' })
    id!: string;

    @Column()
    text!: string;
  }

  @ShardedEntity({ strategy: new NoShardingStrategy() })
  @Entity('wallets')
  class Everything {
    @PrimaryColumn({ type: 'uuid' })
    id!: string;
  }

  it.each([
    [
      Everything,
      [Everything, Wallet, Receipt],
      /Everything has the table of Wallet but not its tenant column/,
    ],
    [Both, [Both], /Both has both a tenant column and a strategy/],
    [Neither, [Neither], /Neither has no tenant column: decorate it with @ShardedEntity/],
    [Unknown, [], /Unknown is not among the entities of the shards: add it to "entities"/],
  ])('%p', async (entity, entities, message) => {
    await expect(bank.boot({ entities }, { features: [entity] as never })).rejects.toMatchObject({
      code: 'invalid_topology',
      message: expect.stringMatching(message),
    });
  });
});
