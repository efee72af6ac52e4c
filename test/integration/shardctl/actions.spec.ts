import { afterAll, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { ActionExecutor, PartialCommit } from '@app/actions';
import { amounts, BANK, MoveMoney, openAccount } from '../../support/bank-actions.js';
import { PurseFleet } from '../../support/purse-fleet.js';
import { Shardctl } from '../../support/shardctl.js';
import type { INestApplication } from '@nestjs/common';

jest.setTimeout(120_000); // each call is a process that loads TypeORM

const shardctl = Shardctl.attach();
let fleet: PurseFleet;
let app: INestApplication;
let toml: string;
let id: string;

beforeAll(async () => {
  fleet = await PurseFleet.create();
  app = await fleet.boot(BANK);
  toml = fleet.toml();
});
afterAll(() => fleet.stop());

/** A transfer that has stopped behind its first shard. */
beforeEach(async () => {
  await fleet.clear();
  const [from, to] = [await openAccount(fleet, 0, 50), await openAccount(fleet, 1, 95)];
  await fleet.query(1, 'alter table accounts add constraint poor check (amount < 100) not valid');
  const partial = await app
    .get(ActionExecutor)
    .execute(MoveMoney, { from, to: [to], amount: 5 })
    .catch((error: unknown) => error as PartialCommit);
  ({ actionId: id } = partial as PartialCommit);
  await fleet.query(1, 'alter table accounts drop constraint poor');
});

const run = (...args: string[]) => shardctl.run(['actions', ...args], { toml });

it('lists what is stuck, shows one, and completes it', async () => {
  const stuck = await run('stuck', '--quiet', '0.001');
  expect(stuck.code).toBe(1);
  expect(stuck.out.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/, 'TIME').split(/\s{2,}|\n/)).toEqual([
    'action',
    'name',
    'state',
    'failure',
    'since',
    id,
    'MoveMoney',
    'partial',
    '23514',
    'TIME',
    '',
  ]);
  expect(await run('show', id)).toEqual({
    code: 0,
    out: `action MoveMoney ${id} is partial, after 23514\npart  shard   state\n   0  shard0  applied\n   1  shard1  pending\n`,
    err: '',
  });
  const done = await run('retry', id, '--json');
  expect(JSON.parse(done.out)).toMatchObject({ id, state: 'applied', parts: [{}, { state: 'applied' }] });
  expect(await amounts(fleet)).toEqual([[45], [100], []]);
  expect(await run('stuck')).toEqual({ code: 0, out: 'no action is stuck\n', err: '' });
});

it('undoes one when somebody says so', async () => {
  expect(await run('compensate', id)).toMatchObject({ code: 2, out: '' });
  const undone = await run('compensate', id, '--yes', '--json');
  expect(JSON.parse(undone.out)).toMatchObject({
    state: 'compensated',
    parts: [{ state: 'compensated' }, { state: 'cancelled' }],
  });
  expect(await amounts(fleet)).toEqual([[50], [95], []]);
  const refused = await run('retry', id);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('was undone')]);
});

it('says what is wrong with the call', async () => {
  for (const args of [['stuck', id], ['show'], ['drop', id]]) {
    expect(await run(...args)).toMatchObject({ code: 2, out: '' });
  }
  expect(await run('show', 'x')).toMatchObject({ code: 1, err: expect.stringContaining('no action') });
});
