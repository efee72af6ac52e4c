import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Action, ActionExecutor, Actions, PartialCommit, type ActionContext } from '@app/actions';
import { Shards } from '@app/sharding';
import { Account, PurseFleet, Purse, TENANTS } from '../../support/purse-fleet.js';
import { amounts, BANK, journal, MoveMoney, openAccount, partStates } from '../../support/bank-actions.js';
import type { INestApplication } from '@nestjs/common';

/** Whatever the test says. */
@Action()
class Free {
  perform(work: (ctx: ActionContext) => unknown, ctx: ActionContext): unknown {
    return work(ctx);
  }
}

let fleet: PurseFleet;
let app: INestApplication;
let executor: ActionExecutor;

beforeAll(async () => {
  fleet = await PurseFleet.create();
  app = await fleet.boot([...BANK, Free]);
  executor = app.get(ActionExecutor);
});
afterEach(async () => {
  MoveMoney.runs = 0;
  await fleet.query(1, 'alter table accounts drop constraint if exists poor');
  await fleet.clear();
});
afterAll(() => fleet.stop());

/** Lets a part fail on shard1 for good. */
const breakShard1 = () =>
  fleet.query(1, 'alter table accounts add constraint poor check (amount < 100) not valid');

async function three(): Promise<[string, string, string]> {
  return [await openAccount(fleet, 0, 50), await openAccount(fleet, 1, 95), await openAccount(fleet, 2, 50)];
}

async function transfer(): Promise<string | PartialCommit> {
  const [a, b, c] = await three();
  return executor
    .execute(MoveMoney, { from: c, to: [b, a], amount: 5 })
    .catch((error: unknown) => error as PartialCommit);
}

describe('an action that may change several shards', () => {
  it('has one transaction for each, in the order of group and member, and a journal without content', async () => {
    const id = await transfer();
    expect(await amounts(fleet)).toEqual([[55], [100], [40]]);
    expect(await partStates(fleet)).toEqual([['applied'], ['applied'], ['applied']]);
    expect(await journal(fleet)).toMatchObject([
      { action_id: id, action: 'MoveMoney', state: 'applied', parts: ['shard0', 'shard1', 'shard2'] },
    ]);
    const events = await fleet.everywhere('select action_id, type from _sharding_outbox');
    expect(events).toEqual([0, 1, 2].map(() => [{ action_id: id, type: 'money.moved' }]));
    const contents = await fleet.everywhere('select content::text from _sharding_action_parts');
    expect(contents.flat().map(({ content }) => content)).toEqual(['{}', '{}', '{}']);
  });

  it('gives entities their version and ids as with one shard', async () => {
    const [a, , c] = await three();
    const load = async (shard: number, id: string) =>
      (await app.get(Shards).dbOn(`shard${shard}`))
        .getRepository(Account)
        .findOneByOrFail({ id: id as never });
    const entities = [await load(0, a), await load(2, c)];
    const work = ({ plan }: ActionContext) => entities.forEach((entity) => plan.update(entity));
    await executor.execute(Free, work, { allowCrossShard: true });
    await executor.execute(Free, work, { allowCrossShard: true });
    expect(entities.map(({ version }) => version)).toEqual([3, 3]);
  });

  it('performs again while nothing is committed', async () => {
    const [a, b] = await three();
    let first = true;
    const raced = executor.execute(
      Free,
      async ({ plan }: ActionContext) => {
        const shards = app.get(Shards);
        for (const [shard, id] of [
          [0, a],
          [1, b],
        ] as const) {
          const db = await shards.dbOn(`shard${shard}`);
          plan.update(await db.getRepository(Account).findOneByOrFail({ id: id as never }));
        }
        if (first) await fleet.query(0, 'update accounts set version = version + 1');
        first = false;
      },
      { allowCrossShard: true },
    );
    await raced;
    expect((await journal(fleet)).map(({ state }) => state)).toEqual(['cancelled', 'applied']);
    expect(await partStates(fleet)).toEqual([['cancelled', 'applied'], ['cancelled', 'applied'], []]);
  });

  it('needs a control database, and says so before it stores anything', async () => {
    const [a, b] = await three();
    const without = await fleet.boot(BANK, { database: { primaryUrl: undefined as never } });
    await expect(
      without.get(ActionExecutor).execute(MoveMoney, { from: a, to: [b], amount: 1 }),
    ).rejects.toMatchObject({
      code: 'invalid_options',
      message: expect.stringContaining('control database'),
    });
    expect(await partStates(fleet)).toEqual([[], [], []]);
  });

  it('is refused inside of a transaction', async () => {
    const [a, b] = await three();
    const db = await app.get(Shards).dbOn('shard0');
    const account = await db.getRepository(Account).findOneByOrFail({ id: a as never });
    const other = Object.assign(new Account(), { ...account, id: b });
    const inside = db.tx(() =>
      executor.execute(Free, ({ plan }: ActionContext) => [plan.update(account), plan.update(other)], {
        allowCrossShard: true,
      }),
    );
    await expect(inside).rejects.toMatchObject({ code: 'cross_shard_transaction' });
    expect(await journal(fleet)).toEqual([]);
  });

  it('may change rows of several tenants', async () => {
    const purses = TENANTS.map((tenantId) => Object.assign(new Purse(), { tenantId, amount: 1 }));
    await executor.execute(Free, ({ plan }: ActionContext) => purses.forEach((one) => plan.insert(one)), {
      key: TENANTS[0],
      allowCrossShard: true,
    });
    const stored = await fleet.everywhere('select tenant_id from purses');
    expect(stored.map((rows) => rows.map((row) => row['tenant_id']))).toEqual([['acme'], ['globex'], []]);
  });
});

describe('a shard that fails behind the first commit', () => {
  it('ends in PartialCommit, which says how far it came, and perform does not run again', async () => {
    await breakShard1();
    const error = await transfer();
    expect(error).toBeInstanceOf(PartialCommit);
    expect(error).toMatchObject({
      code: 'partial_commit',
      committed: ['shard0'],
      failed: 'shard1',
      notAttempted: ['shard2'],
      cause: { code: '23514' },
    });
    expect(MoveMoney.runs).toBe(1);
    expect(await amounts(fleet)).toEqual([[55], [95], [50]]);
    const [entry] = await app.get(Actions).stuck({ quietMs: 0 });
    expect(entry).toMatchObject({
      id: (error as PartialCommit).actionId,
      state: 'partial',
      failure: '23514',
    });
    expect((await app.get(Actions).show(entry!.id)).parts).toEqual([
      { part: 0, shard: 'shard0', state: 'applied' },
      { part: 1, shard: 'shard1', state: 'pending' },
      { part: 2, shard: 'shard2', state: 'pending' },
    ]);
  });

  it('is completed by retry from what is stored, once, also by two at once', async () => {
    await breakShard1();
    const { actionId } = (await transfer()) as PartialCommit;
    await expect(app.get(Actions).retry(actionId)).rejects.toBeInstanceOf(PartialCommit);
    await fleet.query(1, 'alter table accounts drop constraint poor');
    const both = await Promise.all([1, 2].map(() => app.get(Actions).retry(actionId)));
    expect(both.map(({ state }) => state)).toEqual(['applied', 'applied']);
    expect(await amounts(fleet)).toEqual([[55], [100], [40]]);
    expect(MoveMoney.runs).toBe(1);
    await expect(app.get(Actions).compensate(actionId)).rejects.toMatchObject({ code: 'action_refused' });
    await expect(app.get(Actions).retry(actionId)).resolves.toMatchObject({ state: 'applied' });
  });

  it('is undone by compensate, with an event, and not completed afterwards', async () => {
    await breakShard1();
    const { actionId } = (await transfer()) as PartialCommit;
    const record = await app.get(Actions).compensate(actionId);
    expect(record).toMatchObject({
      state: 'compensated',
      parts: [{ state: 'compensated' }, { state: 'cancelled' }, { state: 'cancelled' }],
    });
    expect(await amounts(fleet)).toEqual([[50], [95], [50]]);
    expect(await fleet.query(0, 'select version from accounts')).toEqual([{ version: 3 }]);
    const events = await fleet.query(0, 'select type, payload from _sharding_outbox order by position');
    expect(events.at(-1)).toEqual({
      type: 'sharding.action_compensated',
      payload: { actionId, action: 'MoveMoney', part: 0 },
    });
    await expect(app.get(Actions).retry(actionId)).rejects.toMatchObject({ code: 'action_refused' });
    await expect(app.get(Actions).compensate(actionId)).resolves.toMatchObject({ state: 'compensated' });
    expect(await amounts(fleet)).toEqual([[50], [95], [50]]);
  });

  it('is not undone where a row was changed since', async () => {
    await breakShard1();
    const { actionId } = (await transfer()) as PartialCommit;
    await fleet.query(0, 'update accounts set amount = 1, version = version + 1');
    await expect(app.get(Actions).compensate(actionId)).rejects.toMatchObject({
      code: 'stale_row',
      message: expect.stringContaining('part 0'),
    });
    expect(await amounts(fleet)).toEqual([[1], [95], [50]]);
  });

  it('leaves a stale row to PartialCommit', async () => {
    const [a, b] = await three();
    let runs = 0;
    const work = async ({ plan }: ActionContext) => {
      runs++;
      for (const [shard, id] of [
        [0, a],
        [1, b],
      ] as const) {
        const db = await app.get(Shards).dbOn(`shard${shard}`);
        plan.update(await db.getRepository(Account).findOneByOrFail({ id: id as never }));
      }
      await fleet.query(1, 'update accounts set version = version + 1');
    };
    const failing = executor.execute(Free, work, { allowCrossShard: true });
    await expect(failing).rejects.toMatchObject({ code: 'partial_commit', cause: { code: 'stale_row' } });
    expect(runs).toBe(1);
  });
});

it('undoes inserted, updated and deleted rows of every kind', async () => {
  const [acme, globex] = TENANTS;
  const seed = async (amount: number) => {
    const made = Object.assign(new Purse(), { tenantId: acme, amount, notes: { deep: [1.5, 'x', null] } });
    await executor.execute(Free, ({ plan }: ActionContext) => plan.insert(made));
    return made;
  };
  const [changed, removed] = [await seed(1), await seed(2)];
  const columns = 'select id, amount, notes, tenant_id from purses order by amount';
  const before = await fleet.query(0, columns);
  await fleet.query(1, 'alter table purses add constraint never check (amount <> 77)');
  const failing = executor.execute(
    Free,
    ({ plan }: ActionContext) => {
      plan.insert(Object.assign(new Purse(), { tenantId: acme, amount: 3 }));
      plan.update(Object.assign(changed, { amount: 9, notes: null }));
      plan.delete(removed);
      plan.insert(Object.assign(new Purse(), { tenantId: globex, amount: 77 }));
    },
    { allowCrossShard: true },
  );
  const { actionId } = (await failing.catch((error: unknown) => error)) as PartialCommit;
  expect(await fleet.query(0, 'select amount from purses order by amount')).toEqual([
    { amount: 3 },
    { amount: 9 },
  ]);
  await app.get(Actions).compensate(actionId);
  expect(await fleet.query(0, columns)).toEqual(before);
  await fleet.query(1, 'alter table purses drop constraint never');
});

it('says what is not known', async () => {
  for (const id of ['7b5dd0f6-7c7a-4f0e-9f4e-7f6a4b0c0c11', "x'; drop table accounts --"]) {
    await expect(app.get(Actions).retry(id)).rejects.toMatchObject({ code: 'unknown_action', status: 404 });
  }
});
