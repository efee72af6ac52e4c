import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Action, ActionExecutor, PartialCommit, type ActionContext } from '@app/actions';
import { ShardIdentifier } from '@app/routing';
import { Purse, PurseFleet, TENANTS } from '../../support/purse-fleet.js';
import { amounts, BANK, journal, MoveMoney, openAccount, partStates } from '../../support/bank-actions.js';
import type { ExecuteOptions } from '@app/actions';

/** Opens a purse; counts how often it runs. */
@Action()
class OpenPurse {
  static runs = 0;

  async perform({ amount }: { amount: number; note?: string }, { plan }: ActionContext): Promise<object> {
    OpenPurse.runs++;
    const purse = Object.assign(new Purse(), { amount });
    if (amount > 0) plan.insert(purse);
    return { amount, purse: purse.id ?? null, run: OpenPurse.runs };
  }
}

let fleet: PurseFleet;
let executor: ActionExecutor;
const [acme] = TENANTS;

beforeAll(async () => {
  fleet = await PurseFleet.create();
  const app = await fleet.boot([OpenPurse, ...BANK], { actions: { retry: { attempts: 1 } } });
  executor = app.get(ActionExecutor);
});
afterEach(async () => {
  OpenPurse.runs = 0;
  MoveMoney.runs = 0;
  await fleet.clear();
});
afterAll(() => fleet.stop());

const open = (amount: number, options: ExecuteOptions = { key: acme, idempotencyKey: 'k1' }) =>
  executor.execute(OpenPurse, { amount }, options);

describe('an idempotency key', () => {
  it('lets the second call return the first result, without performing', async () => {
    const first = await open(5);
    await expect(open(5)).resolves.toEqual(first);
    expect([OpenPurse.runs, await fleet.query(0, 'select amount from purses')]).toEqual([1, [{ amount: 5 }]]);
    expect(
      await fleet.query(0, 'select action, routing_key, run_parts from _sharding_action_ledger'),
    ).toEqual([{ action: 'OpenPurse', routing_key: 'acme', run_parts: 1 }]);
  });

  it('is one for each action, home and name', async () => {
    await open(5);
    await open(5, { key: acme, idempotencyKey: 'k2' });
    await open(5, { key: 'initech', idempotencyKey: 'k1' });
    expect(OpenPurse.runs).toBe(3);
  });

  it('with other parameters is a mistake; their order is none', async () => {
    await executor.execute(OpenPurse, { amount: 5, note: 'a' }, { key: acme, idempotencyKey: 'k1' });
    await executor.execute(OpenPurse, { note: 'a', amount: 5 }, { key: acme, idempotencyKey: 'k1' });
    await expect(open(6)).rejects.toMatchObject({ code: 'idempotency_mismatch', status: 422 });
    expect(OpenPurse.runs).toBe(1);
  });

  it('lets one of many concurrent calls write, and all return its result', async () => {
    const results = await Promise.all(Array.from({ length: 8 }, () => open(5)));
    expect(new Set(results.map((result) => JSON.stringify(result))).size).toBe(1);
    expect(await fleet.query(0, 'select amount from purses')).toEqual([{ amount: 5 }]);
  });

  it('keeps nothing of an attempt that fails', async () => {
    await expect(open(3_000_000_000)).rejects.toMatchObject({ code: '22003' });
    expect(await fleet.query(0, 'select from _sharding_action_ledger')).toEqual([]);
    await expect(open(3)).resolves.toMatchObject({ amount: 3 });
  });

  it('keeps a result also where nothing is staged', async () => {
    const home = ShardIdentifier.of(1, 0);
    const first = await open(0, { idempotencyKey: 'k1', home });
    await expect(open(0, { idempotencyKey: 'k1', home })).resolves.toEqual(first);
    expect(await fleet.query(2, 'select routing_key from _sharding_action_ledger')).toEqual([
      { routing_key: null },
    ]);
  });

  it('needs a home, and a name of some length', async () => {
    for (const options of [{ idempotencyKey: 'k1' }, { key: acme, idempotencyKey: '' }]) {
      await expect(open(0, options)).rejects.toMatchObject({ code: 'invalid_options' });
    }
  });

  it('makes its home a further shard', async () => {
    const home = ShardIdentifier.of(1, 0);
    const options = { key: acme, idempotencyKey: 'k1', home };
    await expect(open(5, options)).rejects.toMatchObject({
      code: 'cross_shard_transaction',
      message: expect.stringContaining('"shard2", "shard0"'),
    });
    await open(5, { ...options, allowCrossShard: true });
    await open(5, { ...options, allowCrossShard: true });
    expect(await fleet.query(0, 'select amount from purses')).toEqual([{ amount: 5 }]);
  });
});

describe('over several shards', () => {
  const home = ShardIdentifier.of(0, 1);

  async function transfer(): Promise<() => Promise<string>> {
    const [a, b] = [await openAccount(fleet, 0, 50), await openAccount(fleet, 1, 50)];
    const move = { from: a, to: [b], amount: 5 };
    return () => executor.execute(MoveMoney, move, { home, idempotencyKey: 'k1' });
  }

  it('one of many concurrent calls writes, and all return its result', async () => {
    const move = await transfer();
    const results = await Promise.all(Array.from({ length: 6 }, move));
    expect(new Set(results).size).toBe(1);
    expect(await amounts(fleet)).toEqual([[45], [55], []]);
    expect((await journal(fleet)).filter(({ state }) => state === 'applied')).toHaveLength(1);
  });

  it('the call that is repeated completes what the first has left', async () => {
    const move = await transfer();
    await fleet.query(0, 'alter table accounts add constraint rich check (amount >= 50) not valid');
    await expect(move()).rejects.toBeInstanceOf(PartialCommit);
    await expect(move()).rejects.toBeInstanceOf(PartialCommit);
    expect(await amounts(fleet)).toEqual([[50], [55], []]);
    await fleet.query(0, 'alter table accounts drop constraint rich');
    const [{ action_id: id } = {}] = await journal(fleet);
    await expect(move()).resolves.toBe(id);
    expect(await amounts(fleet)).toEqual([[45], [55], []]);
    expect([MoveMoney.runs, await partStates(fleet)]).toEqual([1, [['applied'], ['applied'], []]]);
  });
});
