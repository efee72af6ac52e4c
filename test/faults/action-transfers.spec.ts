import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { ActionExecutor, Actions } from '@app/actions';
import { amounts, BANK, journal, MoveMoney, openAccounts } from '../support/bank-actions.js';
import { PurseFleet } from '../support/purse-fleet.js';
import { seededRandom } from '../support/seeded-random.js';
import type { INestApplication } from '@nestjs/common';

const SEED = Number(process.env['FAULT_SEED'] ?? Date.now() % 1_000_000);
const TRANSFERS = 200;

let fleet: PurseFleet;
let app: INestApplication;

beforeAll(async () => {
  fleet = await PurseFleet.create();
  app = await fleet.boot(BANK, { database: { poolSize: 2 } });
});
afterEach(() => fleet.clear());
afterAll(() => fleet.stop());

const move = (from: string, to: string) =>
  app
    .get(ActionExecutor)
    .execute(MoveMoney, { from, to: [to], amount: 1 })
    .then(() => 'done')
    .catch((error: { code?: string }) => error.code ?? String(error));

const sum = async () => (await amounts(fleet)).flat().reduce((a, b) => a + b, 0);

it(`200 parallel opposite transfers with pools of 2 all end, and the sum is what it was (C61, FAULT_SEED=${SEED})`, async () => {
  const random = seededRandom(SEED);
  const [left, right] = [await openAccounts(fleet, 0, TRANSFERS), await openAccounts(fleet, 1, TRANSFERS)];
  const pairs = left.map((one, at) => [one, right[at]!] as const);
  const ends = await Promise.all(pairs.map(([a, b]) => (random() < 0.5 ? move(a, b) : move(b, a))));
  expect(ends).toEqual(ends.map(() => 'done'));
  expect(await sum()).toBe(2 * TRANSFERS * 100);
  expect((await journal(fleet)).map(({ state }) => state)).toEqual(ends.map(() => 'applied'));
});

it('those that meet on one pair of accounts end too: done, stale or partial, each told by the journal', async () => {
  const random = seededRandom(SEED);
  const [[a = ''], [b = '']] = [await openAccounts(fleet, 0, 1), await openAccounts(fleet, 1, 1)];
  const ends = await Promise.all(
    Array.from({ length: 40 }, () => (random() < 0.5 ? move(a, b) : move(b, a))),
  );
  const allowed = new Set(['done', 'stale_row', 'partial_commit']);
  expect(ends.filter((end) => !allowed.has(end))).toEqual([]);
  const count = (end: string) => ends.filter((one) => one === end).length;
  const states = (await journal(fleet)).map(({ state }) => state);
  expect(states.filter((state) => state === 'applied')).toHaveLength(count('done'));
  const stuck = await app.get(Actions).stuck({ quietMs: 0 });
  expect(stuck.map(({ state }) => state)).toEqual(
    Array.from({ length: count('partial_commit') }, () => 'partial'),
  );
});
