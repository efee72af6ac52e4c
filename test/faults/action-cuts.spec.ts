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

/** Attempts that may hit something beside the action. */
const MISSED = 20;
/** What makes something last: moments to die at. With ACTION_CUTS=all every statement is one. */
const LASTING = /^(COMMIT|insert into _sharding_action_|update _sharding_action_journal)/i;
const STATEMENTS = process.env['ACTION_CUTS'] === 'all' ? /(?:)/ : LASTING;

/**
 * The process is gone at the k-th of these statements: of that nothing is heard, and of no other.
 *
 * @returns `died`; `passed`: there are less than k; `elsewhere`: a statement beside the action was hit, or it met what an
 *   earlier outage had left
 */
async function dieAt(
  k: number,
  when: 'before' | 'after',
  shards: 2 | 3,
): Promise<'died' | 'passed' | 'elsewhere'> {
  const run = await transfer(shards);
  const before = proxy.injections;
  let end: unknown;
  proxy.cutOn(STATEMENTS, when, 'silent', k - 1);
  const ended = run().then((how) => (end = how));
  const cut = () => proxy.injections > before;
  await waitFor(async () => end !== undefined || cut(), { what: 'the cut, or the end of the action' });
  const died = end === undefined;
  if (died) {
    await proxy.refuse();
    await proxy.dropAll();
  }
  await ended;
  await heal();
  if (died) return 'died';
  return !cut() && end === 'done' ? 'passed' : 'elsewhere';
}

/** Whatever has happened, a retry makes it whole. @returns the state of the journal, empty where none was written */
async function settled(shards: 2 | 3): Promise<string> {
  const entries = await journal(fleet);
  for (const { action_id: id } of entries) await operator.get(Actions).retry(String(id));
  const states = (await journal(fleet)).map(({ state }) => String(state)).join();
  const found = [...new Set((await partStates(fleet)).flat())];
  expect([states, await amounts(fleet), found]).toEqual([
    states,
    states === 'applied' ? MOVED[shards] : UNMOVED[shards],
    states === '' ? [] : [states],
  ]);
  return states;
}

describe.each([2, 3] as const)('an action over %i shards', (shards) => {
  it('whose process dies before or after any commit is complete or cancelled after a retry, and nothing is done twice', async () => {
    const ends = new Map<string, number>();
    let deaths = 0;
    let elsewhere = 0;
    for (const when of ['before', 'after'] as const) {
      for (let k = 1, how = 'died'; how !== 'passed' && k < 100; k++) {
        how = await dieAt(k, when, shards);
        const state = await settled(shards);
        if (how === 'elsewhere' && elsewhere++ < MISSED) k--; // the same moment once more
        if (how !== 'died') continue;
        deaths++;
        ends.set(state, (ends.get(state) ?? 0) + 1);
      }
    }
    expect([...ends.keys()].toSorted()).toEqual(['', 'applied', 'cancelled']);
    if (STATEMENTS === LASTING) expect(deaths).toBe(2 * (2 * shards + 2));
    else expect(deaths).toBeGreaterThan(2 * (2 * shards + 2));
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
