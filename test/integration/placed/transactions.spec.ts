import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ShardedUuid, ShardIdentifier } from '@app/routing';
import { shardedRepositoryToken, type PlacedRepository } from '@app/sharding';
import { expectNoConnections } from '@test/support';
import { Account, Bank, Customer, outcome, shardsOf } from './bank.js';
import type { Shards } from '@app/sharding';

let bank: Bank;
let shards: Shards;
let accounts: PlacedRepository<Account>;
let customers: PlacedRepository<Customer>;

beforeAll(async () => {
  bank = await Bank.open();
  const app = await bank.boot();
  shards = shardsOf(app);
  accounts = app.get(shardedRepositoryToken(Account));
  customers = app.get(shardedRepositoryToken(Customer));
});
beforeEach(() => bank.clear());
afterAll(async () => {
  await bank.stop();
  for (const url of bank.urls) await expectNoConnections(url);
});

const ann = { id: '1', country: 'DE', name: 'ann' };

describe('entities of several shards', () => {
  it('are refused together, with the names of the shards, before anything is written', async () => {
    const mixed = () => [
      { id: '2', country: 'DE' },
      { id: '3', country: 'MX' },
    ];
    for (const write of [() => customers.insert(mixed()), () => customers.save(mixed())]) {
      await expect(write()).rejects.toMatchObject({
        code: 'cross_shard_transaction',
        message:
          'what is written of Customer belongs to shards "shard0", "shard2": write each shard\'s rows by themselves, as there is no transaction across shards',
      });
    }
    expect(await outcome(customers.save([{ id: '2', country: 'DE' }, { id: '3' }]))).toBe('no_placement');
    expect(await bank.where('customers', 'id')).toEqual({});
    expect(await customers.save([])).toEqual([]);
    expect(await customers.insert([])).toEqual({ identifiers: [], generatedMaps: [] });
  });
});

describe('an entity that was loaded', () => {
  const loads: [string, () => Promise<Customer | null | undefined>][] = [
    ['find', async () => (await customers.find({ where: { country: 'DE' } }))[0]],
    ['findOneBy', () => customers.findOneBy({ country: 'DE' })],
    ['findById on a database', async () => customers.on(await shards.dbOn('shard0')).findById('1')],
    ['find over all shards', async () => (await customers.find({ scatter: true }))[0]],
    ['findById over all shards', () => customers.findById('1', { scatter: true })],
    ['save', () => customers.save({ ...ann })],
    [
      'insert',
      async () => {
        const fresh = { id: '5', country: 'DE', name: 'eve' };
        await customers.insert(fresh);
        return fresh;
      },
    ],
  ];

  it.each(loads)('by %s is never saved on another shard', async (_name, load) => {
    await bank.query(0, `insert into customers values ('1', 'DE', 'ann')`);
    const customer = (await load())!;
    const before = await bank.where('customers', 'id');
    customer.country = 'MX';
    await expect(customers.save(customer)).rejects.toMatchObject({
      code: 'placement_changed',
      status: 409,
      message:
        'Customer was loaded from shard "shard0", and its values name shard "shard2" now: restore them, or insert it there and delete it here',
    });
    expect(await bank.where('customers', 'id')).toEqual(before);
    customer.country = 'DE';
    customer.name = 'new';
    await customers.save(customer);
    expect(await customers.findOneBy({ country: 'DE', id: customer.id })).toEqual({ ...customer });
  });

  it('is moved by an insert there and a delete here', async () => {
    const customer = { ...ann };
    await customers.insert(customer);
    customer.country = 'MX';
    await customers.insert(customer);
    await customers.delete({ country: 'DE', id: '1' });
    customer.name = 'moved';
    await customers.save(customer);
    expect(await bank.where('customers', 'name')).toEqual({ shard2: ['moved'] });
  });

  it('is known to the repositories that were made of the one that loaded it', async () => {
    await bank.query(0, `insert into customers values ('1', 'DE', 'ann')`);
    const customer = (await customers.onPrimary().findOneBy({ country: 'DE' }))!;
    customer.country = 'MX';
    const there = await shards.dbOn('shard2');
    expect(await outcome(customers.save(customer))).toBe('placement_changed');
    expect(await outcome(customers.on(there).save(customer))).toBe('placement_changed');
    expect(await bank.where('customers', 'country')).toEqual({ shard0: ['DE'] });
  });
});

describe('inside a transaction', () => {
  it('of the same shard reads and writes are part of it', async () => {
    const id = ShardedUuid.generate<Account>(ShardIdentifier.of(0, 1));
    const db = await shards.dbOn('shard1');
    const failed = db.tx(async (tx) => {
      await accounts.save({ id, owner: 'ann' });
      await accounts.update(id, { owner: 'bob' });
      expect(await accounts.findById(id)).toEqual({ id, owner: 'bob' });
      expect(await accounts.on(tx).count()).toBe(1);
      throw new Error('roll it back');
    });
    await expect(failed).rejects.toThrow('roll it back');
    expect(await bank.where('accounts', 'id')).toEqual({});
  });

  it('of another shard every call is cross_shard_transaction, and so is one over all shards', async () => {
    const id = ShardedUuid.generate<Account>(ShardIdentifier.of(0, 1));
    const db = await shards.dbOn('shard0');
    const calls: (() => Promise<unknown>)[] = [
      () => accounts.findById(id),
      () => accounts.existsById(id),
      () => accounts.findByIds([id]),
      () => accounts.find({ where: { id } }),
      () => accounts.insert({ id, owner: 'x' }),
      () => accounts.save({ id, owner: 'x' }),
      () => accounts.update(id, { owner: 'x' }),
      () => accounts.delete(id),
      () => customers.find({ scatter: true }),
    ];
    const codes: unknown[] = [];
    for (const call of calls) codes.push(await db.tx(() => outcome(call())));
    expect(new Set(codes)).toEqual(new Set(['cross_shard_transaction']));
    expect(await bank.where('accounts', 'id')).toEqual({});
  });
});

describe('on a given database', () => {
  it('reads there whatever the strategy does not say, and writes what it agrees with', async () => {
    const db = await shards.dbOn('shard0');
    const there = customers.on(db);
    await there.insert(ann);
    expect(await there.find()).toEqual([ann]);
    expect(await there.findById('1')).toEqual(ann);
    expect(await there.findByIds(['1', '2'])).toEqual([ann]);
    expect((await there.update('1', { name: 'new' })).affected).toBe(1);
    expect(await outcome(there.insert({ id: '2', country: 'MX' }))).toBe('cross_shard_transaction');
    expect((await there.delete({ name: 'new' })).affected).toBe(1);
    expect(await bank.where('customers', 'id')).toEqual({});
  });
});
