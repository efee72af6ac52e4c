import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { PurseFleet } from '../../support/purse-fleet.js';
import { Shardctl } from '../../support/shardctl.js';

jest.setTimeout(120_000); // each call is a process that loads TypeORM

const shardctl = Shardctl.attach();
let fleet: PurseFleet;
const [stuck, running, ended] = [randomUUID(), randomUUID(), randomUUID()];

beforeAll(async () => {
  fleet = await PurseFleet.create();
  const add = (shard: number, id: string, state: string) =>
    fleet.query(
      shard,
      `insert into _sharding_saga (saga_id, name, routing_key, state, data, steps, failure, started_at)
      values ($1, 'split', 'acme', $2, '{"secret": 1}', '{"withdraw": {"state": "undoing"}}', $3, '2026-01-02T03:04:05Z')`,
      [id, state, state === 'stuck' ? 'compensation of withdraw: RangeError' : null],
    );
  await add(0, stuck, 'stuck');
  await add(1, running, 'running');
  await add(1, ended, 'completed');
});
afterAll(() => fleet.stop());

const run = (...args: string[]) => shardctl.run(['sagas', ...args], { toml: fleet.toml() });

const STUCK = {
  shard: 'shard0',
  id: stuck,
  name: 'split',
  state: 'stuck',
  key: 'acme',
  failure: 'compensation of withdraw: RangeError',
  started_at: '2026-01-02T03:04:05.000Z',
};

it('lists sagas that have not ended, and fails while one is stuck', async () => {
  const { code, out, err } = await run();
  expect({ code, err }).toEqual({ code: 1, err: '' });
  const time = '2026-01-02T03:04:05.000Z';
  expect(out.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['shard', 'saga', 'name', 'state', 'key', 'failure', 'started'],
    ['shard0', stuck, 'split', 'stuck', 'acme', 'compensation of withdraw: RangeError', time],
    ['shard1', running, 'split', 'running', 'acme', '-', time],
    [''],
  ]);
  const json = await run('--state', 'stuck', '--json');
  expect({ ...json, out: JSON.parse(json.out) as unknown }).toEqual({
    code: 1,
    out: { sagas: [STUCK], failures: [] },
    err: '',
  });
});

it('resumes a stuck one once: its compensation is asked for by an event', async () => {
  expect(await run('resume', stuck)).toEqual({
    code: 0,
    out: 'resumed on shard0: a process of the application does the compensation\n',
    err: '',
  });
  expect(await fleet.query(0, 'select type, payload, aggregate_id from _sharding_outbox')).toEqual([
    {
      type: 'sharding.saga_step',
      payload: { sagaId: stuck, step: 'withdraw', phase: 'undo' },
      aggregate_id: `${stuck}/withdraw`,
    },
  ]);
  const again = await run('resume', stuck, '--json');
  expect({ ...again, out: JSON.parse(again.out) as unknown }).toEqual({
    code: 1,
    out: { id: stuck, state: 'not_stuck', shard: 'shard0', failures: [] },
    err: '',
  });
  expect((await run('--all')).code).toBe(0);
});

it('says what is wrong with the call, and what no shard has', async () => {
  for (const args of [['resume'], ['resume', 'x'], ['drop', stuck]]) {
    expect(await run(...args)).toMatchObject({ code: 2, out: '' });
  }
  expect(await run('resume', randomUUID())).toMatchObject({
    code: 1,
    out: 'no shard that could be asked has it\n',
  });
});
