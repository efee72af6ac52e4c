import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { HashRouter, ShardedUuid, ShardIdentifier, SlotUuid, slotOf } from '@app/routing';
import { Pins, shardedRepositoryToken, ShardedRepository } from '@app/sharding';
import { expectNoConnections, freePort, waitFor } from '@test/support';
import { Bank, outcome, Receipt, shardsOf, Wallet } from './bank.js';
import type { INestApplication } from '@nestjs/common';
import { controlDatabase } from '../../support/control-database.js';
import type { Topology, TopologyShard } from '@app/routing';
import type { Shards } from '@app/sharding';

let bank: Bank;
let app: INestApplication;
let shards: Shards;
let wallets: ShardedRepository<Wallet>;
let receipts: ShardedRepository<Receipt>;

beforeAll(async () => {
  bank = await Bank.open();
  app = await bank.boot();
  shards = shardsOf(app);
  wallets = app.get(shardedRepositoryToken(Wallet));
  receipts = app.get(shardedRepositoryToken(Receipt));
});
beforeEach(() => bank.clear());
afterEach(() => bank.unpin(app));
afterAll(async () => {
  await bank.stop();
  for (const url of bank.urls) await expectNoConnections(url);
});

const make = (tenant: string, owner: string) => wallets.for(tenant).save({ owner, amount: 1 });
const whole = (wallet: Wallet) => ({
  id: wallet.id,
  tenantId: wallet.tenantId,
  owner: wallet.owner,
  amount: 1,
});

describe('without a tenant', () => {
  it('goes by the id alone, to the slot and to the shard that it names', async () => {
    const made = [await make('acme', 'ann'), await make('globex', 'bob')];
    for (const wallet of made) expect(await wallets.findById(wallet.id)).toEqual(whole(wallet));
    for (const tenant of ['acme', 'globex']) {
      const { id } = await receipts.for(tenant).save({});
      expect(await receipts.findById(id)).toEqual({ id, tenantId: tenant, wallet: null });
    }
    expect(await wallets.findById(SlotUuid.generate('acme'))).toBeNull();
    expect(await receipts.findById(ShardedUuid.generate(ShardIdentifier.DEFAULT))).toBeNull();
  });

  it('loads what is eager, of the row’s own tenant only', async () => {
    const [own, foreign] = [await make('acme', 'ann'), await make('another', 'eve')];
    const ids: Receipt['id'][] = [];
    for (const { id: wallet } of [own, foreign]) {
      const id = ShardedUuid.generate<Receipt>(ShardIdentifier.DEFAULT);
      const shard = (await shards.shardFor('acme')).name === 'shard0' ? 0 : 1;
      await bank.query(shard, 'alter table receipts drop constraint if exists receipts_wallet_id_fkey');
      await bank.query(shard, `insert into receipts values ($1, 'acme', $2)`, [id, wallet]);
      ids.push(id);
    }
    expect(await receipts.findById(ids[0]!)).toEqual({
      id: ids[0],
      tenantId: 'acme',
      wallet: whole(own),
    });
    expect(await receipts.findById(ids[1]!)).toEqual({ id: ids[1], tenantId: 'acme', wallet: null });
  });

  it('asks the shards that keys of the slot are pinned to', async () => {
    const before = await make('acme', 'before');
    await bank.pin(app, 'acme', 'shard1');
    const after = await make('acme', 'after');
    expect(await bank.where('wallets', 'owner')).toEqual({ shard0: ['before'], shard1: ['after'] });
    expect(await wallets.findById(after.id)).toEqual(whole(after));
    expect(await wallets.findById(before.id)).toEqual(whole(before)); // of its slot, and not moved yet
  });

  it('of a row that is on two shards, gives the one of the shard that the tenant is on', async () => {
    const wallet = await make('acme', 'ann');
    await bank.query(1, `insert into wallets values ($1, 'acme', 'moved', 9)`, [wallet.id]);
    await bank.pin(app, 'acme', 'shard1');
    expect(await wallets.findById(wallet.id)).toMatchObject({ owner: 'moved' });
    await bank.unpin(app);
    expect(await wallets.findById(wallet.id)).toMatchObject({ owner: 'ann' });
  });
});

describe('with a tenant', () => {
  it('gives its own rows, and null for those of others', async () => {
    const [own, foreign] = [await make('acme', 'ann'), await make('globex', 'bob')];
    const receipt = await receipts.for('globex').save({});
    const asAcme = <T>(work: () => Promise<T>) => shards.runFor('acme', work);
    expect(await asAcme(() => wallets.findById(own.id))).toEqual(whole(own));
    expect(await asAcme(() => wallets.findById(foreign.id))).toBeNull();
    expect(await asAcme(() => receipts.findById(receipt.id))).toBeNull();
    expect(await wallets.for('acme').findById(own.id)).toEqual(whole(own));
    expect(await wallets.for('acme').findById(foreign.id)).toBeNull();
    expect(await receipts.for('globex').findById(receipt.id)).toMatchObject({ tenantId: 'globex' });
    const db = await shards.dbFor('acme');
    expect(await wallets.on(db, 'acme').findById(own.id)).toEqual(whole(own));
    expect(await wallets.on(db, 'globex').findById(own.id)).toBeNull();
  });

  it('gives null for a row of somebody else under an id of the own slot: an id grants nothing', async () => {
    const id = SlotUuid.generate<Wallet>('acme');
    await bank.query(0, `insert into wallets values ($1, 'twin', 'x', 0)`, [id]);
    expect(await shards.runFor('acme', () => wallets.findById(id))).toBeNull();
    expect(await shards.runFor('twin', () => wallets.findById(id))).toBeNull();
  });

  it('goes where the tenant is pinned', async () => {
    await bank.pin(app, 'acme', 'shard1');
    const wallet = await make('acme', 'ann');
    expect(await shards.runFor('acme', () => wallets.findById(wallet.id))).toEqual(whole(wallet));
  });

  it('is part of the transaction of its shard', async () => {
    const found = await shards.runFor('acme', (db) =>
      db.tx(async () => {
        const { id } = await wallets.save({ owner: 'fresh', amount: 1 });
        const own = await wallets.findById(id);
        const foreign = await wallets.findById(SlotUuid.generate('globex'));
        return [own?.owner, foreign];
      }),
    );
    expect(found).toEqual(['fresh', null]);
  });
});

describe('an id that cannot be followed', () => {
  it('is invalid_id, whatever it is, with a tenant and without', async () => {
    const texts: unknown[] = ['', 'text', '0193a5b7-c000-4000-8000-123456789abc', 5, null, undefined, {}];
    texts.push(ShardedUuid.generate(ShardIdentifier.DEFAULT), "' or 1=1 --", 'x'.repeat(10_000));
    for (const id of texts) {
      const find = () => outcome(wallets.findById(id as Wallet['id']));
      expect([await find(), await shards.runFor('acme', find)]).toEqual(['invalid_id', 'invalid_id']);
      expect(await outcome(wallets.for('acme').findById(id as Wallet['id']))).toBe('invalid_id');
    }
    expect(await outcome(receipts.findById(SlotUuid.generate('acme')))).toBe('invalid_id');
  });

  it('opens no connection', async () => {
    const fresh = await bank.boot();
    const repository = fresh.get<ShardedRepository<Wallet>>(shardedRepositoryToken(Wallet));
    expect(await outcome(repository.findById('text' as Wallet['id']))).toBe('invalid_id');
    expect(await outcome(repository.findById(SlotUuid.generate('acme', 7)))).toBe('unregistered_shard');
    const opened = shardsOf(fresh)
      .all()
      .map(({ database }) => database.opened);
    expect(opened).toEqual([undefined, undefined, undefined]);
  });

  it('is unregistered_shard for each of the 16,381 identifiers and 254 groups that are not there (S16)', async () => {
    const there = new Set(['(0,0)', '(0,1)', '(1,0)']);
    const wrong: unknown[] = [];
    for (let group = 0; group < 256; group++) {
      for (let member = 0; member < 64; member++) {
        const identifier = ShardIdentifier.of(group, member);
        const answer = await outcome(receipts.findById(ShardedUuid.generate(identifier)));
        const right = there.has(identifier.toString()) ? null : 'unregistered_shard';
        if (answer !== right) wrong.push([identifier.toString(), answer]);
      }
      const answer = await outcome(wallets.findById(SlotUuid.generate({ group, slot: 5 })));
      if (answer !== (group < 2 ? null : 'unregistered_shard')) wrong.push([group, answer]);
    }
    expect(wrong).toEqual([]);
    const unknown = ShardedUuid.generate<Receipt>(ShardIdentifier.of(0, 7));
    await expect(receipts.findById(unknown)).rejects.toMatchObject({ status: 404, retryable: false });
  });
});

it('a candidate that is down is an error where the row is not found, or may be an old copy', async () => {
  const dead = `postgres://nobody:secret@127.0.0.1:${await freePort()}/none`;
  const [first = '', , third = ''] = bank.urls;
  const half = await bank.boot({}, { urls: [first, dead, third] });
  const repository = half.get<ShardedRepository<Wallet>>(shardedRepositoryToken(Wallet));
  await bank.pin(half, 'acme', 'shard1');
  const [there, missing] = [SlotUuid.generate<Wallet>('acme'), SlotUuid.generate<Wallet>('acme')];
  const neighbour = keyOfSlot(slotOf('acme'));
  await bank.query(0, `insert into wallets values ($1, $2, 'ann', 1)`, [there, neighbour]);
  expect(await repository.findById(there)).toMatchObject({ owner: 'ann' }); // shard0 is where its tenant is
  await bank.query(0, `update wallets set tenant_id = 'acme' where id = $1`, [there]);
  expect(await outcome(repository.findById(there))).toBe('shard_unavailable'); // that of shard1 may be newer
  expect(await outcome(repository.findById(missing))).toBe('shard_unavailable');
  await half.get(Pins).unpin('acme');
  await waitFor(async () => (await shardsOf(half).shardFor('acme')).name === 'shard0', { what: 'the unpin' });
  expect(await repository.findById(missing)).toBeNull();
  expect(await repository.findById(there)).toMatchObject({ owner: 'ann' });
});

/** Another key of the same slot. */
function keyOfSlot(slot: number): string {
  for (let number = 0; ; number++) if (slotOf(`key-${number}`) === slot) return `key-${number}`;
}

it('an id leads to its row after the slot map has changed', async () => {
  const wallet = await make('acme', 'ann');
  const shardsNow = [
    { name: 'shard0', primaryUrl: bank.urls[0]!, slots: [] },
    { name: 'shard1', primaryUrl: bank.urls[1]!, slots: ['0-16383'] },
  ];
  const database = { primaryUrl: await controlDatabase(), shards: shardsNow };
  const resharded = await bank.boot({ database });
  await bank.query(1, `insert into wallets values ($1, 'acme', 'moved', 1)`, [wallet.id]);
  const repository = resharded.get<ShardedRepository<Wallet>>(shardedRepositoryToken(Wallet));
  expect(await repository.findById(wallet.id)).toEqual({ ...whole(wallet), owner: 'moved' });
});

it('an id leads into the group of its tenant', async () => {
  const grouped = await bank.boot({ groupOf: (key) => (key === 'acme' ? 1 : 0) });
  const repository = grouped.get<ShardedRepository<Wallet>>(shardedRepositoryToken(Wallet));
  const wallet = await repository.for('acme').save({ owner: 'ann', amount: 1 });
  expect([SlotUuid.group(wallet.id), await bank.where('wallets', 'id')]).toEqual([
    1,
    { shard2: [wallet.id] },
  ]);
  expect(await repository.findById(wallet.id)).toEqual(whole(wallet));
  const shard0 = SlotUuid.generate<Wallet>('acme');
  expect(await outcome(repository.for('acme').insert({ id: shard0, owner: 'x' }))).toBe('invalid_id');
});

describe('a router of one’s own', () => {
  class Sends extends HashRouter {
    constructor(private readonly where: string) {
      super();
    }

    override shardsOfSlot(_slot: number, topology: Topology): readonly TopologyShard[] {
      const named = { name: this.where, index: 9, group: 0, slotCount: 0 };
      return [topology.has(this.where) ? topology.byName(this.where) : named];
    }
  }

  it.each([
    ['shard1', { owner: 'sent' }],
    ['shard2', 'residency_violation'],
    ['nowhere', 'out_of_topology'],
  ])('that sends keys of a slot to %s', async (where, answer) => {
    const sending = await bank.boot({ router: new Sends(where) });
    const repository = sending.get<ShardedRepository<Wallet>>(shardedRepositoryToken(Wallet));
    const id = SlotUuid.generate<Wallet>('acme');
    await bank.query(1, `insert into wallets values ($1, 'acme', 'sent', 1)`, [id]);
    const found = await outcome(repository.findById(id));
    expect(typeof answer === 'string' ? found : { owner: (found as Wallet).owner }).toEqual(answer);
  });
});

it('an entity without @ShardedId says so', async () => {
  const { Plain, boot } = await import('./plain.js');
  const repository = await boot(bank);
  await expect(repository.findById('7')).rejects.toMatchObject({
    code: 'no_placement',
    message: `an id of ${Plain.name} does not say where its row is: find it by its tenant, or declare the id with @ShardedId()`,
  });
});
