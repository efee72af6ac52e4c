import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ShardedUuid, ShardIdentifier, slotOf, SlotUuid } from '@app/routing';
import { shardedRepositoryToken, type PlacedRepository } from '@app/sharding';
import { expectNoConnections } from '@test/support';
import { Account, asked, Bank, Customer, Device, Locker, outcome, Reading, shardsOf } from './bank.js';
import type { INestApplication } from '@nestjs/common';
import { runOnce } from '../../support/admin-query.js';

let bank: Bank;
let app: INestApplication;
let accounts: PlacedRepository<Account>;
let customers: PlacedRepository<Customer>;
let readings: PlacedRepository<Reading>;
let devices: PlacedRepository<Device>;
let lockers: PlacedRepository<Locker>;

beforeAll(async () => {
  bank = await Bank.open();
  app = await bank.boot();
  accounts = app.get(shardedRepositoryToken(Account));
  customers = app.get(shardedRepositoryToken(Customer));
  readings = app.get(shardedRepositoryToken(Reading));
  devices = app.get(shardedRepositoryToken(Device));
  lockers = app.get(shardedRepositoryToken(Locker));
});
beforeEach(() => bank.clear());
afterAll(async () => {
  await bank.stop();
  for (const url of bank.urls) await expectNoConnections(url);
});

/** Ids of three shards: (0,0), (0,1), (1,0). */
const idsOf = () =>
  [ShardIdentifier.of(0, 0), ShardIdentifier.of(0, 1), ShardIdentifier.of(1, 0)].map((identifier) =>
    ShardedUuid.generate<Account>(identifier),
  ) as [Account['id'], Account['id'], Account['id']];

describe('by the bits of the id', () => {
  it('writes and reads each row where its id says', async () => {
    const [a, b, c] = idsOf();
    for (const id of [a, b]) await accounts.insert({ id, owner: `of ${id}` });
    const saved = await accounts.save({ id: c, owner: 'c' });
    expect(saved).toEqual({ id: c, owner: 'c' });
    expect(await bank.where('accounts', 'id')).toEqual({ shard0: [a], shard1: [b], shard2: [c] });
    expect(await accounts.findById(b)).toEqual({ id: b, owner: `of ${b}` });
    expect(await accounts.findByIdOrFail(c)).toEqual({ id: c, owner: 'c' });
    expect(await accounts.findByIds([c, a, c, ShardedUuid.generate(ShardIdentifier.DEFAULT), b])).toEqual([
      { id: c, owner: 'c' },
      { id: a, owner: `of ${a}` },
      { id: b, owner: `of ${b}` },
    ]);
    const upper = c.toUpperCase() as Account['id'];
    expect(await accounts.findByIds([upper])).toEqual([{ id: c, owner: 'c' }]);
    expect(await accounts.existsById(a)).toBe(true);
    expect(await accounts.find({ where: { id: a } })).toEqual([{ id: a, owner: `of ${a}` }]);
    expect(await accounts.findBy({ id: b, owner: 'nobody' })).toEqual([]);
    expect(await accounts.findOne({ where: { id: c }, select: { owner: true } })).toEqual({ owner: 'c' });
    expect(await accounts.findOneBy({ id: b })).toEqual({ id: b, owner: `of ${b}` });
    expect(await accounts.count({ where: { id: c } })).toBe(1);
    expect(await accounts.exists({ where: { id: c, owner: 'x' } })).toBe(false);
    expect(await accounts.find({ where: [{ id: a }, { id: c }] })).toHaveLength(2);
  });

  it('changes and deletes rows by id and by conditions that name one', async () => {
    const [a, b, c] = idsOf();
    for (const id of [a, b, c]) await accounts.insert({ id, owner: 'x' });
    expect((await accounts.update(b, { owner: 'y' })).affected).toBe(1);
    expect((await accounts.update({ id: c, owner: 'x' }, { owner: 'z' })).affected).toBe(1);
    expect((await accounts.delete([a])).affected).toBe(1);
    expect(await bank.where('accounts', 'owner')).toEqual({ shard1: ['y'], shard2: ['z'] });
    expect(await outcome(accounts.update([b, c], { owner: 'w' }))).toBe('cross_shard_transaction');
    expect(await outcome(accounts.update(b, { id: c }))).toBe('placement_changed');
    expect(await outcome(accounts.update({ owner: 'y' }, { owner: 'w' }))).toBe('no_placement');
    expect(await outcome(accounts.delete({}))).toBe('invalid_options');
    expect(await outcome(accounts.delete([]))).toBe('invalid_options');
    expect(await outcome(accounts.delete({ id: undefined } as never))).toBe('invalid_options');
    expect(await bank.where('accounts', 'owner')).toEqual({ shard1: ['y'], shard2: ['z'] });
  });

  it('of a shard that is not there is unregistered_shard, and of another kind invalid_id', async () => {
    const id = ShardedUuid.generate<Account>(ShardIdentifier.of(0, 5));
    const other = SlotUuid.generate<Account>('acme');
    const calls = (of: Account['id']) => [
      accounts.findById(of),
      accounts.existsById(of),
      accounts.findByIds([of]),
      accounts.find({ where: { id: of } }),
      accounts.insert({ id: of, owner: 'x' }),
      accounts.save({ id: of, owner: 'x' }),
      accounts.update(of, { owner: 'x' }),
      accounts.delete(of),
      accounts.findById(of, { scatter: true }),
    ];
    const codes = async (of: Account['id']) => new Set(await Promise.all(calls(of).map(outcome)));
    expect([await codes(id), await codes(other)]).toEqual([
      new Set(['unregistered_shard']),
      new Set(['invalid_id']),
    ]);
    expect(await bank.where('accounts', 'id')).toEqual({});
  });

  it('an id that is missing is generated on a given database, and nowhere else', async () => {
    const refused = await outcome(accounts.insert({ owner: 'ann' }));
    const db = await shardsOf(app).dbOn('shard2');
    const made = await accounts.on(db).save({ owner: 'ann' });
    expect([refused, ShardedUuid.identifier(made.id).toString()]).toEqual(['no_placement', '(1,0)']);
    expect(await bank.where('accounts', 'id')).toEqual({ shard2: [made.id] });
  });

  it('a row that is not there fails findByIdOrFail as TypeORM does', async () => {
    await expect(accounts.findByIdOrFail(idsOf()[0])).rejects.toMatchObject({ name: 'EntityNotFoundError' });
  });
});

describe('by the slot of a key', () => {
  it('generates the id for the slot, and obeys the pin of the key', async () => {
    const first = await lockers.save({ owner: 'acme' });
    await bank.pin(app, 'acme', 'shard1');
    const second = { owner: 'acme' } as Locker;
    await lockers.insert(second);
    await bank.unpin(app);
    expect(await bank.where('lockers', 'id')).toEqual({ shard0: [first.id], shard1: [second.id] });
    expect([first, second].map(({ id }) => SlotUuid.slot(id))).toEqual([slotOf('acme'), slotOf('acme')]);
    expect(await lockers.find({ where: { owner: 'acme' } })).toEqual([{ id: first.id, owner: 'acme' }]);
    expect(await lockers.findOneBy({ owner: 'acme' })).toEqual({ id: first.id, owner: 'acme' });
    expect(await lockers.count({ where: { owner: 'globex' } })).toBe(0);
  });

  it('refuses an id of another slot', async () => {
    const id = SlotUuid.generate<Locker>('globex');
    expect(await outcome(lockers.insert({ id, owner: 'acme' }))).toBe('invalid_id');
    expect(await outcome(lockers.save({ id, owner: 'acme' }))).toBe('invalid_id');
    const own = SlotUuid.generate<Locker>('acme');
    await lockers.insert({ id: own, owner: 'acme' });
    expect(await bank.where('lockers', 'id')).toEqual({ shard0: [own] });
  });

  it('keeps keys in the group that the options name', async () => {
    const grouped = await bank.boot({ groupOf: (key) => (key === 'acme' ? 1 : 0) });
    const elsewhere = grouped.get<PlacedRepository<Locker>>(shardedRepositoryToken(Locker));
    await expect(elsewhere.insert({ owner: 'acme' })).rejects.toMatchObject({
      code: 'residency_violation',
      message:
        'shard "shard2" is in group 1, and the place is in group 0: let the strategy name the group that groupOf, or the directory, gives the key',
    });
    await elsewhere.insert({ owner: 'globex' });
    expect(await bank.where('lockers', 'owner')).toEqual({ shard1: ['globex'] });
  });
});

describe('by a strategy of one’s own', () => {
  it('places by a column, and finds by it', async () => {
    await customers.save([
      { id: '1', country: 'MX', name: 'ana' },
      { id: '2', country: 'MX', name: 'bea' },
    ]);
    await customers.insert({ id: '3', country: 'DE', name: 'cem' });
    expect(await bank.where('customers', 'id')).toEqual({ shard0: ['3'], shard2: ['1', '2'] });
    const mexican = await customers.find({ where: { country: 'MX' }, order: { name: 'DESC' }, take: 1 });
    expect(mexican).toEqual([{ id: '2', country: 'MX', name: 'bea' }]);
    expect(await customers.count({ where: { country: 'MX', id: '1' } })).toBe(1);
    expect((await customers.update({ country: 'DE', id: '3' }, { name: 'can' })).affected).toBe(1);
    expect((await customers.delete({ country: 'MX', id: '2' })).affected).toBe(1);
    expect(await bank.where('customers', 'name')).toEqual({ shard0: ['can'], shard2: ['ana'] });
  });

  it('places by a window of time', async () => {
    for (const id of [2019001, 2021001, 2021002]) await readings.insert({ id, value: id % 10 });
    expect(await bank.where('readings', 'id')).toEqual({ shard0: [2019001], shard1: [2021001, 2021002] });
    expect(await readings.findById(2021002)).toEqual({ id: 2021002, value: 2 });
    expect(await readings.findByIds([2021001, 2019001])).toEqual([
      { id: 2021001, value: 1 },
      { id: 2019001, value: 1 },
    ]);
  });

  it('places by a look-up, with what Nest gives the strategy', async () => {
    await runOnce(bank.control, `insert into device_places values ('a', 0, 1), ('b', 1, 0)`);
    await devices.insert({ id: 'a', model: 'x' });
    await devices.save({ id: 'b', model: 'y' });
    expect(await bank.where('devices', 'id')).toEqual({ shard1: ['a'], shard2: ['b'] });
    expect(await devices.findById('b')).toEqual({ id: 'b', model: 'y' });
    expect(await outcome(devices.findById('unknown'))).toBe('no_placement');
    expect(await outcome(devices.insert({ id: 'unknown', model: 'z' }))).toBe('no_placement');
  });
});

it('is asked once for each operation, and before anything is sent', async () => {
  await runOnce(bank.control, `insert into device_places values ('c', 0, 1)`);
  const calls: [string, () => Promise<unknown>][] = [
    ['look-up', () => devices.insert({ id: 'c', model: 'x' })],
    ['look-up', () => devices.save({ id: 'c', model: 'y' })],
    ['look-up', () => devices.findById('c')],
    ['look-up', () => devices.findByIdOrFail('c')],
    ['look-up', () => devices.existsById('c')],
    ['look-up', () => devices.findByIds(['c'])],
    ['look-up', () => devices.find({ where: { id: 'c' } })],
    ['look-up', () => devices.findOneBy({ id: 'c' })],
    ['look-up', () => devices.count({ where: { id: 'c' } })],
    ['look-up', () => devices.update('c', { model: 'z' })],
    ['look-up', () => devices.delete({ id: 'c' })],
    ['entity', () => customers.save({ id: '9', country: 'DE' })],
    ['entity', () => customers.insert({ id: '8', country: 'DE' })],
  ];
  for (const [question, call] of calls) {
    asked.length = 0;
    await call();
    expect([question, asked]).toEqual([question, [question]]);
  }
  asked.length = 0;
  await customers.findBy({ name: 'x' }).catch(() => undefined);
  await customers.find().catch(() => undefined);
  expect(asked).toEqual(['query', 'query']);
});
