import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { ActionExecutor, ActionRetention, Actions } from '@app/actions';
import { ShardIdentifier } from '@app/routing';
import { amounts, BANK, journal, MoveMoney, openAccount, partStates } from '../../support/bank-actions.js';
import { PurseFleet } from '../../support/purse-fleet.js';
import type { INestApplication } from '@nestjs/common';

let fleet: PurseFleet;
let app: INestApplication;

beforeAll(async () => {
  fleet = await PurseFleet.create();
  app = await fleet.boot(BANK, { actions: { ledgerDays: 30, journalDays: 7 } });
});
afterAll(() => fleet.stop());

async function transfer(): Promise<string> {
  const [from, to] = [await openAccount(fleet, 0, 50), await openAccount(fleet, 1, 95)];
  const options = { home: ShardIdentifier.of(0, 0), idempotencyKey: from };
  return app.get(ActionExecutor).execute(MoveMoney, { from, to: [to], amount: 5 }, options);
}

const ledger = async () => (await fleet.query(0, 'select run_id from _sharding_action_ledger')).length;

/** Everything is as old as that. */
async function age(days: number): Promise<void> {
  const past = `now() - ${days} * interval '1 day'`;
  await fleet.query('control', `update _sharding_action_journal set changed_at = ${past}`);
  await fleet.query(0, `update _sharding_action_ledger set applied_at = ${past}`);
}

it('keeps results and journals for their days, and what has not ended for ever', async () => {
  const ended = await transfer();
  await fleet.query(1, 'alter table accounts add constraint poor check (amount < 100) not valid');
  await expect(transfer()).rejects.toMatchObject({ code: 'partial_commit' });
  const step = () => app.get(ActionRetention).step();
  await age(6);
  await step();
  expect([(await journal(fleet)).length, await ledger()]).toEqual([2, 2]);
  await age(8);
  await step();
  expect((await journal(fleet)).map(({ state }) => state)).toEqual(['partial']);
  expect(await partStates(fleet)).toEqual([['applied'], ['pending'], []]);
  await expect(app.get(Actions).show(ended)).rejects.toMatchObject({ code: 'unknown_action' });
  expect(await ledger()).toBe(2);
  await age(31);
  await step();
  expect(await ledger()).toBe(0);
  await fleet.query(1, 'alter table accounts drop constraint poor');
  const [{ action_id: left } = {}] = await journal(fleet);
  await app.get(Actions).retry(String(left));
  expect((await amounts(fleet)).flat().toSorted((a, b) => a - b)).toEqual([45, 45, 100, 100]);
});
