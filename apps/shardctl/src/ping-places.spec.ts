import { expect, it } from '@jest/globals';
import { pongs, type Answer } from './ping-places.js';
import type { Place } from '@app/sharding/operator';

const place = (role: 'primary' | 'replica', name = 'shard:s') =>
  ({ role, settings: { target: name } }) as Place;
const facts = (lsn: string | null, more: Partial<NonNullable<Answer['facts']>> = {}) => ({
  version: '18.1',
  recovering: false,
  read_only: 'off' as const,
  lsn,
  age: null,
  ...more,
});
const answers = (primary: string | undefined, replica: string | null, age: number | null): Answer[] => [
  primary === undefined
    ? { place: place('primary'), failure: { code: 'ECONNREFUSED', message: 'x' } }
    : { place: place('primary'), connectMs: 1.26, latencyMs: 0.04, facts: facts(primary) },
  { place: place('replica'), connectMs: 1, latencyMs: 1, facts: facts(replica, { recovering: true, age }) },
];

it.each([
  ['0/10', '0/10', 5000, 0, 0],
  ['0/10', '0/20', 5000, 0, 0], // it was asked later
  ['0/FF', '0/F0', 5000.4, 15, 5000],
  ['1/0', '0/FFFFFFFF', null, 1, null],
  [undefined, '0/10', 70, null, 70],
  ['0/10', null, null, null, null],
])('primary at %s, replica at %s, last transaction %s ms ago: %s bytes, %s ms', async (...row) => {
  const [primary, replica, age, bytes, ms] = row;
  expect((await pongs(answers(primary, replica, age)))[1]).toMatchObject({
    lag_bytes: bytes,
    lag_ms: ms,
    ok: true,
  });
});

it.each([
  ['primary', { recovering: true, read_only: 'on' }, 'wrong_role'],
  ['primary', { read_only: 'on' }, 'read_only'],
  ['replica', {}, 'wrong_role'],
  ['replica', { recovering: true }, undefined],
  ['primary', {}, undefined],
] as const)('a configured %s that says %j: %s', async (role, said, code) => {
  const [pong] = await pongs([{ place: place(role), connectMs: 1, latencyMs: 1, facts: facts('0/1', said) }]);
  expect([pong?.ok, pong?.problem?.code]).toEqual([code === undefined, code]);
});

it('compares a replica with its own primary', async () => {
  const [first, second] = answers('0/10', '0/10', 1);
  const other = { place: place('primary', 'shard:t'), connectMs: 1, latencyMs: 1, facts: facts('9/0') };
  const found = await pongs([other, ...(first && second ? [first, second] : [])]);
  expect(found[2]).toMatchObject({ lag_bytes: 0 });
});
