import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ActionExecutor, Sagas } from '@app/actions';
import { ShardedUuid } from '@app/routing';
import { ShardingError, Shards } from '@app/sharding';
import { PurseFleet } from '../../support/purse-fleet.js';
import { waitFor } from '@test/support';
import { amounts, openAccount } from '../../support/bank-actions.js';
import { Behaviour, Deposit, Refund, SAGAS, SplitSaga, type Order } from './transfer-sagas.js';
import type { INestApplication } from '@nestjs/common';
import type { StepHome } from '@app/actions';

let fleet: PurseFleet;
let app: INestApplication;
let sagas: Sagas;
let behaviour: Behaviour;

beforeAll(async () => {
  fleet = await PurseFleet.create();
  app = await fleet.boot(SAGAS, { actions: { outbox: { relay: 'on', firstRetryMs: 20, idleMs: 100 } } });
  sagas = app.get(Sagas);
  behaviour = app.get(Behaviour);
});
afterEach(async () => {
  behaviour.runs.length = 0;
  behaviour.before = () => undefined;
  await fleet.clear();
  for (const shard of fleet.shards.keys()) await fleet.query(shard, 'truncate _sharding_saga');
});
afterAll(() => fleet.stop());

const homeOf = (order: Order): StepHome => ({ at: ShardedUuid.identifier(order.from) });

async function order(amount: number, balance = 100): Promise<Order> {
  const [from, first, second] = [
    await openAccount(fleet, 2, balance),
    await openAccount(fleet, 0, 0),
    await openAccount(fleet, 1, 0),
  ];
  return { from, to: [first, second], amount };
}

async function run(given: Order) {
  const sagaId = await sagas.start(SplitSaga, given, homeOf(given));
  return sagas.finished(sagaId, homeOf(given), { timeoutMs: 15_000 });
}

/** Lets the deposits of a shard fail as long as the answer is an error. */
function failing(name: string, error: () => Error | undefined): void {
  behaviour.before = (action, { account }) => {
    const found = error();
    if (found && name === `${action} ${ShardedUuid.identifier(account).toString()}`) throw found;
  };
}

describe('a saga', () => {
  it('does its stages on their shards, parallel steps at the same time, and keeps results', async () => {
    const { progress, failure } = await run(await order(20));
    expect(await amounts(fleet)).toEqual([[20], [20], [60]]);
    expect({ progress, failure }).toEqual({
      progress: {
        state: 'completed',
        steps: {
          withdraw: { state: 'done', result: 60 },
          first: { state: 'done', result: 20 },
          second: { state: 'done', result: 20 },
        },
      },
      failure: undefined,
    });
  });

  it('ends compensated, and says why without content, when its first step is refused', async () => {
    const { progress, failure } = await run(await order(60));
    expect({ state: progress.state, failure }).toEqual({ state: 'compensated', failure: 'withdraw: Poor' });
    expect(await amounts(fleet)).toEqual([[0], [0], [100]]);
  });

  it('undoes what is done when a later step is refused, also what was done beside it', async () => {
    failing('Deposit (0,1)', () => new TypeError('no'));
    const { progress, failure } = await run(await order(20));
    expect({ state: progress.state, failure }).toEqual({
      state: 'compensated',
      failure: 'second: TypeError',
    });
    expect(progress.steps).toMatchObject({
      withdraw: { state: 'undone' },
      second: { state: 'refused' },
      first: { state: expect.stringMatching(/^(undone|refused)$/) },
    });
    expect(await amounts(fleet)).toEqual([[0], [0], [100]]);
  });

  it('waits for a shard that is away for a moment', async () => {
    let failures = 3;
    failing('Deposit (0,1)', () =>
      failures-- > 0 ? new ShardingError('shard_unavailable', 'away') : undefined,
    );
    expect((await run(await order(20))).progress.state).toBe('completed');
    expect(await amounts(fleet)).toEqual([[20], [20], [60]]);
  });

  it('gives a step up when its time is over, and never does it later', async () => {
    const given = await order(20);
    let late = (): void => undefined;
    const frozen = new Promise<void>((resolve) => (late = resolve));
    let entered = 0;
    behaviour.before = async (action, { account }) => {
      if (action !== 'Deposit' || ShardedUuid.identifier(account).toString() !== '(0,1)') return;
      if (++entered === 1) throw new ShardingError('shard_unavailable', 'away');
      await frozen;
    };
    const sagaId = await sagas.start(SplitSaga, given, homeOf(given));
    await waitFor(async () => entered === 2, { what: 'the second attempt' });
    const other = await fleet.boot(SAGAS, { actions: { outbox: { relay: 'off' } } });
    await giveUpAs(other, sagaId, given);
    late();
    const { progress, failure } = await sagas.finished(sagaId, homeOf(given));
    expect({ state: progress.state, failure }).toEqual({
      state: 'compensated',
      failure: 'second: action_refused',
    });
    expect(await amounts(fleet)).toEqual([[0], [0], [100]]);
  });

  it('turns round by itself after the time of a step', async () => {
    failing('Deposit (0,1)', () => new ShardingError('shard_unavailable', 'away'));
    const { progress, failure } = await run(await order(20));
    expect({ state: progress.state, failure }).toEqual({ state: 'compensated', failure: 'second: timeout' });
    expect(await amounts(fleet)).toEqual([[0], [0], [100]]);
  });

  it('is started once by one id, and at once with other rows', async () => {
    const given = await order(20);
    const sagaId = randomUUID();
    const shard = await app.get(Shards).dbOn('shard2');
    const rolledBack = shard.tx(async () => {
      await sagas.start(SplitSaga, given, { sagaId, ...homeOf(given) });
      throw new Error('no');
    });
    await expect(rolledBack).rejects.toThrow('no');
    expect(await sagas.find(sagaId, homeOf(given))).toBeUndefined();
    for (let times = 0; times < 3; times++) await sagas.start(SplitSaga, given, { sagaId, ...homeOf(given) });
    await sagas.finished(sagaId, homeOf(given));
    expect(await amounts(fleet)).toEqual([[20], [20], [60]]);
  });

  it('does nothing twice when events come again', async () => {
    const given = await order(20);
    const sagaId = await sagas.start(SplitSaga, given, homeOf(given));
    await sagas.finished(sagaId, homeOf(given));
    const runs = behaviour.runs.length;
    const events = ['withdraw', 'first', 'second'].map((step) => ({ sagaId, step, phase: 'do' }));
    for (const payload of [...events, ...events]) {
      await fleet.query(
        2,
        `insert into _sharding_outbox (event_id, action_id, type, payload, aggregate_id, occurred_at)
        values ($1, $1, 'sharding.saga_step', $2, 'again', now())`,
        [randomUUID(), JSON.stringify(payload)],
      );
    }
    const left = async () => (await fleet.query(2, 'select from _sharding_outbox')).length;
    await waitFor(async () => (await left()) === 0, { what: 'the events to be delivered' });
    expect(behaviour.runs).toHaveLength(runs);
    expect(await amounts(fleet)).toEqual([[20], [20], [60]]);
  });

  it('is stuck when a compensation keeps failing, and goes on by hand', async () => {
    let broken = true;
    behaviour.before = (action, { account }) => {
      if (action === 'Deposit' && ShardedUuid.identifier(account).toString() === '(0,1)')
        throw new TypeError('no');
      if (action === 'Refund' && broken) throw new RangeError('no');
    };
    const given = await order(20);
    const stuck = await run(given);
    expect(stuck).toMatchObject({
      progress: { state: 'stuck', steps: { withdraw: { state: 'undoing' } } },
      failure: 'compensation of withdraw: RangeError',
    });
    expect(behaviour.runs.filter((name) => name === Refund.name)).toHaveLength(10);
    broken = false;
    expect(await sagas.resume(stuck.sagaId, homeOf(given))).toBe(true);
    expect((await sagas.finished(stuck.sagaId, homeOf(given))).progress.state).toBe('compensated');
    expect(await sagas.resume(stuck.sagaId, homeOf(given))).toBe(false);
    expect(await amounts(fleet)).toEqual([[0], [0], [100]]);
  });
});

/** What another process does for the step that is late here. */
async function giveUpAs(other: INestApplication, sagaId: string, { to }: Order): Promise<void> {
  const idempotencyKey = JSON.stringify(['saga', sagaId, 'second', 'do']);
  const home = ShardedUuid.identifier(to[1] ?? '');
  const end = await other.get(ActionExecutor).giveUp(Deposit, { home, idempotencyKey });
  expect(end).toEqual({ applied: false });
}
