import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ShardedUuid, ShardIdentifier } from '@app/routing';
import { shardedRepositoryToken, type PlacedRepository } from '@app/sharding';
import { expectNoConnections, freePort } from '@test/support';
import { RecordedLog } from '../directory/recorded-log.js';
import { Account, Bank, Customer, outcome, Reading } from './bank.js';
import type { INestApplication } from '@nestjs/common';

const CUSTOMERS = [
  { id: '1', country: 'DE', name: 'a' },
  { id: '2', country: 'MX', name: 'b' },
  { id: '3', country: 'DE', name: 'c' },
];
const scatter = { scatter: true } as const;

let bank: Bank;
let customers: PlacedRepository<Customer>;
let accounts: PlacedRepository<Account>;

const repositoryOf = <E extends object>(app: INestApplication, entity: new () => E) =>
  app.get<PlacedRepository<E>>(shardedRepositoryToken(entity));

beforeAll(async () => {
  bank = await Bank.open();
  const app = await bank.boot();
  customers = repositoryOf(app, Customer);
  accounts = repositoryOf(app, Account);
});
beforeEach(async () => {
  await bank.clear();
  for (const customer of CUSTOMERS) await customers.insert({ ...customer });
});
afterAll(async () => {
  await bank.stop();
  for (const url of bank.urls) await expectNoConnections(url);
});

describe('where the strategy does not say the shard', () => {
  it('every call is no_placement, which says what to pass', async () => {
    const calls = [
      customers.findById('1'),
      customers.findByIdOrFail('1'),
      customers.existsById('1'),
      customers.findByIds(['1']),
      customers.find(),
      customers.findBy({ name: 'a' }),
      customers.findOne({ where: { name: 'a' } }),
      customers.findOneBy([{ country: 'DE' }, { name: 'b' }]),
      customers.count(),
      customers.exists({ where: { name: 'a' } }),
      customers.update('1', { name: 'x' }),
      customers.delete({ name: 'a' }),
      customers.insert({ id: '9' }),
    ];
    expect(new Set(await Promise.all(calls.map(outcome)))).toEqual(new Set(['no_placement']));
    await expect(customers.findById('1')).rejects.toMatchObject({
      status: 400,
      message:
        'the strategy of Customer does not say where an id is: find it by a condition that says it, or ask every shard with { scatter: true }',
    });
    await expect(customers.find()).rejects.toMatchObject({
      message:
        'the strategy of Customer does not say where these rows are: name an id, or what it asks for, in the condition, or ask every shard with { scatter: true }',
    });
    await expect(customers.insert({ id: '9' })).rejects.toMatchObject({
      message:
        'the strategy of Customer does not say where an entity is written: give it what the strategy asks for, or use on(db)',
    });
    expect(await bank.where('customers', 'name')).toEqual({ shard0: ['a', 'c'], shard2: ['b'] });
  });

  it('{ scatter: true } asks every shard', async () => {
    const [first, second, third] = CUSTOMERS;
    expect(await customers.findById('2', scatter)).toEqual(second);
    expect(await customers.findById('9', scatter)).toBeNull();
    expect(await customers.findByIdOrFail('3', scatter)).toEqual(third);
    expect([await customers.existsById('2', scatter), await customers.existsById('9', scatter)]).toEqual([
      true,
      false,
    ]);
    expect(await customers.findByIds(['3', '2', '9', '3'], scatter)).toEqual([third, second]);
    expect(await customers.find({ order: { name: 'DESC' }, take: 2, ...scatter })).toEqual([third, second]);
    expect(await customers.findBy({ name: 'b' }, scatter)).toEqual([second]);
    expect(await customers.findOne({ where: { country: 'DE', name: 'a' }, ...scatter })).toEqual(first);
    expect(await customers.findOneBy({ name: 'b' }, scatter)).toEqual(second);
    expect(await customers.findOneBy({ name: 'x' }, scatter)).toBeNull();
    expect(await customers.count(scatter)).toBe(3);
    expect(await customers.exists({ where: { name: 'b' }, ...scatter })).toBe(true);
  });

  it('nothing is asked that the strategy says', async () => {
    const id = ShardedUuid.generate<Account>(ShardIdentifier.of(0, 1));
    await bank.query(0, `insert into accounts values ($1, 'astray')`, [id]);
    expect(await accounts.findById(id, scatter)).toBeNull();
    expect(await accounts.find({ where: { id }, ...scatter })).toEqual([]);
    expect(await accounts.findBy({ owner: 'astray' }, scatter)).toEqual([{ id, owner: 'astray' }]);
  });
});

it('scatter = "deny" refuses it, and logs nothing else; "warn" names the caller', async () => {
  const denied = repositoryOf(await bank.boot({ database: { scatter: 'deny' } }), Customer);
  const codes = [denied.findById('1', scatter), denied.find(scatter), denied.count(scatter)].map(outcome);
  expect(await Promise.all(codes)).toEqual(['scatter_denied', 'scatter_denied', 'scatter_denied']);
  expect(await denied.count({ where: { country: 'DE' } })).toBe(2);
  const log = new RecordedLog();
  const warned = repositoryOf(
    await bank.boot({ database: { scatter: 'warn' } }, { nest: { logger: log } }),
    Customer,
  );
  await warned.find(scatter);
  expect(log.of('scatter')).toEqual([
    expect.stringMatching(
      /^warn: Customer\.find\(\) at placed\/scatter\.spec\.ts:\d+: 3 shards, 3 rows, [\d.]+ ms$/,
    ),
  ]);
});

it('a shard that is down is an error only where it may have the row', async () => {
  const dead = `postgres://nobody:secret@127.0.0.1:${await freePort()}/none`;
  const [first = '', , third = ''] = bank.urls;
  const app = await bank.boot({}, { urls: [first, dead, third] });
  const half = repositoryOf(app, Customer);
  expect(await half.findById('2', scatter)).toEqual(CUSTOMERS[1]);
  expect(await half.existsById('2', scatter)).toBe(true);
  expect(await half.find({ where: { country: 'MX' } })).toEqual([CUSTOMERS[1]]);
  await expect(half.findById('9', scatter)).rejects.toMatchObject({
    code: 'shard_unavailable',
    message: 'the row was not found, and may be on a shard that did not answer: "shard1"',
  });
  expect(await outcome(half.findByIds(['2'], scatter))).toBe('shard_unavailable');
  expect(await outcome(half.find(scatter))).toBe('shard_unavailable');
  expect(await outcome(repositoryOf(app, Reading).findByIds([2019001, 2021001]))).toBe('shard_unavailable');
});
