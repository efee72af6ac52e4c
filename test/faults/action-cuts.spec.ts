import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ActionExecutor, Actions } from '@app/actions';
import { FaultProxy, waitFor } from '@test/support';
import { amounts, BANK, journal, MoveMoney, openAccount, partStates } from '../support/bank-actions.js';
import { PurseFleet } from '../support/purse-fleet.js';
import type { INestApplication } from '@nestjs/common';

let fleet: PurseFleet;
let proxy: FaultProxy;
/** Reaches every database through the proxy. */
let executing: INestApplication;
/** Whoever comes afterwards. */
let operator: INestApplication;

beforeAll(async () => {
  fleet = await PurseFleet.create();
  proxy = await FaultProxy.start({ port: Number(new URL(fleet.control).port) });
  const [one = '', two = '', three = ''] = fleet.shards.map((url) => proxy.url(url));
  executing = await fleet.boot(BANK, {
    urls: { control: proxy.url(fleet.control), 0: one, 1: two, 2: three },
  });
  operator = await fleet.boot(BANK);
});
afterEach(() => fleet.clear());
afterAll(async () => {
  await fleet.stop();
  await proxy.dispose();
});

/** Gives to `shards - 1` others; tells what it was, and how it ended. */
async function transfer(shards: 2 | 3): Promise<() => Promise<unknown>> {
  await fleet.clear();
  const [from = '', ...to] = await Promise.all(
    Array.from({ length: shards }, (_none, shard) => openAccount(fleet, shard, 50)),
  );
  return () =>
    executing
      .get(ActionExecutor)
      .execute(MoveMoney, { from, to, amount: 5 })
      .then(() => 'done')
      .catch((error: { code?: string }) => error.code ?? String(error));
}

const MOVED = { 2: [[45], [55], []], 3: [[40], [55], [55]] } as const;
const UNMOVED = { 2: [[50], [50], []], 3: [[50], [50], [50]] } as const;

/** Waits until the way is free, and no connection is left of before. */
async function heal(): Promise<void> {
  proxy.forgetCuts();
  await proxy.accept();
  const idle = async () => {
    const ask = { from: '00000000-0000-7000-8000-000000000000', to: [], amount: 0 };
    const code = await executing
      .get(ActionExecutor)
      .execute(MoveMoney, ask)
      .catch((error: { code?: string; name?: string }) => error.code ?? error.name);
    return code === 'EntityNotFoundError' || code === 'invalid_id';
  };
  await waitFor(idle, { what: 'the application to reach its shards again' });
  for (const shard of fleet.shards.keys()) {
    const others = async () => {
      const open = `select 1 from pg_stat_activity where datname = current_database()
        and state <> 'idle' and pid <> pg_backend_pid()`;
      return (await fleet.query(shard, open)).length === 0;
    };
    await waitFor(others, { what: 'the transactions of before to end' });
  }
}

/** What makes something last, each a moment to die at; with ACTION_CUTS=all every statement is. */
const STATEMENTS =
  process.env['ACTION_CUTS'] === 'all'
    ? /(?:)/
    : /^(COMMIT|insert into _sharding_action_|update _sharding_action_journal)/i;

/** The process is gone at the k-th of these statements: of that nothing is heard, and of no other. @returns whether it came so far */
async function dieAt(k: number, when: 'before' | 'after', shards: 2 | 3): Promise<boolean> {
  const run = await transfer(shards);
  const before = proxy.injections;
  proxy.cutOn(STATEMENTS, when, 'silent', k - 1);
  const ended = run();
  const cut = async () => proxy.injections > before;
  const came = await Promise.race([
    ended.then(() => false),
    waitFor(cut, { what: 'the cut' }).then(() => true),
  ]);
  if (came) {
    await proxy.refuse();
    await proxy.dropAll();
  }
  await ended;
  await heal();
  return came;
}

describe.each([2, 3] as const)('an action over %i shards', (shards) => {
  it('whose process dies before or after any commit is complete or cancelled after a retry, and nothing is done twice', async () => {
    let planned = 0;
    const ends = new Map<string, number>();
    for (const when of ['before', 'after'] as const) {
      for (let k = 1; await dieAt(k, when, shards); k++) {
        planned++;
        const entries = await journal(fleet);
        for (const { action_id: id } of entries) await operator.get(Actions).retry(String(id));
        const states = (await journal(fleet)).map(({ state }) => String(state)).join();
        ends.set(states, (ends.get(states) ?? 0) + 1);
        const expected = states === 'applied' ? MOVED[shards] : UNMOVED[shards];
        expect([when, k, states, await amounts(fleet)]).toEqual([when, k, states, expected]);
        const found = [...new Set((await partStates(fleet)).flat())];
        expect([when, k, found]).toEqual([
          when,
          k,
          states === 'applied' ? ['applied'] : entries.length > 0 ? ['cancelled'] : [],
        ]);
      }
    }
    expect([...ends.keys()].toSorted()).toEqual(['', 'applied', 'cancelled']);
    expect(planned).toBeGreaterThanOrEqual(2 * (2 * shards + 2));
  }, 280_000);

  it.each(['before', 'after'] as const)(
    'goes on when a COMMIT is lost %s the server did it',
    async (when) => {
      for (let part = 0; part < shards; part++) {
        const run = await transfer(shards);
        const before = proxy.injections;
        proxy.cutOn(/^COMMIT/i, when, 'reset', part);
        await expect(run()).resolves.toBe('done');
        expect(proxy.injections - before).toBe(1);
        expect(await amounts(fleet)).toEqual(MOVED[shards]);
        expect((await journal(fleet)).map(({ state }) => state)).toEqual(['applied']);
      }
    },
  );
});
