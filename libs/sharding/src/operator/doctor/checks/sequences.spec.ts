import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canCollide, sequenceVerdicts, type ShardSequences } from './sequences.js';
import type { SequenceFacts } from '../catalog/sequence-facts.js';

const sequence = (at: number, increment = 1, range: [number, number] = [1, 10_000]): SequenceFacts => ({
  name: 'notes_id_seq',
  table: 'notes',
  column: 'id',
  at: BigInt(at),
  increment: BigInt(increment),
  least: BigInt(range[0]),
  most: BigInt(range[1]),
});

it.each([
  [sequence(1), sequence(1), true],
  [sequence(1), sequence(700), true],
  [sequence(1, 1024), sequence(2, 1024), false],
  [sequence(1025, 1024), sequence(4097, 1024), true],
  [sequence(1, 1024), sequence(7), true],
  [sequence(1, 2), sequence(2, 4), false],
  [sequence(1, 2), sequence(3, 4), true],
  [sequence(-2, -2, [-10, -1]), sequence(-1, -2, [-10, -1]), false],
  [sequence(1, 1, [1, 99]), sequence(100, 1, [100, 199]), false],
  [sequence(1), { ...sequence(1), column: 'number' }, false],
  [sequence(1), { ...sequence(1), table: 'others' }, false],
  [sequence(1), { ...sequence(1), name: 'renamed' }, true],
])('case %#', (a, b, expected) => {
  expect([canCollide(a, b), canCollide(b, a)]).toEqual([expected, expected]);
});

it('is what counting says', () => {
  const part = fc.record({ at: fc.integer({ min: 1, max: 30 }), increment: fc.integer({ min: 1, max: 12 }) });
  fc.assert(
    fc.property(part, part, (a, b) => {
      const all = (from: { at: number; increment: number }) =>
        Array.from({ length: 200 }, (_, step) => from.at + step * from.increment);
      const others = new Set(all(b));
      const met = all(a).some((id) => others.has(id));
      expect(canCollide(sequence(a.at, a.increment), sequence(b.at, b.increment))).toBe(met);
    }),
  );
});

const shard = (
  name: string,
  own: SequenceFacts,
  ordinals: ShardSequences['ordinals'] = [],
): ShardSequences => ({
  target: `shard:${name}`,
  shard: name,
  sequences: [own],
  ordinals,
});
const judged = (databases: ShardSequences[], interleaveIdentities = true) =>
  sequenceVerdicts(databases, { interleaveIdentities, identityStride: 1024 });
const NAME = 'the sequence notes_id_seq (notes.id)';

it.each([
  [true, 'warning', ''],
  [false, 'info', 'set interleave_identities = true, and '],
])('a collision with interleave_identities = %s is a %s', (interleaved, severity, first) => {
  const shards = [
    shard('a', sequence(1, 1024)),
    shard('b', sequence(2, 1024)),
    shard('c', sequence(1026, 1024)),
  ];
  expect(judged(shards, interleaved)).toEqual([
    {
      severity,
      target: 'shard:c',
      reason: `${NAME} gives out ids that it gives out on shard:b too, so that rows cannot be moved with their ids`,
      remedy: `${first}run shardctl migrate, which gives each shard a place of its own modulo 1024; a column that is no bigint, or counts down, has to be changed before`,
    },
  ]);
});

const ordinal = (name: string, of: number) => ({ shard: name, ordinal: of, stride: 1024 });
const CONTROL: ShardSequences = {
  target: 'control',
  shard: undefined,
  sequences: [],
  ordinals: [ordinal('a', 0), ordinal('b', 1)],
};
const ELSEWHERE =
  'does not give out the ids of its shard, 2 modulo 1024, so that those of another shard can be the same';

it.each<[string, SequenceFacts, boolean]>([
  ['at its place', sequence(2050, 1024), true],
  ['at another', sequence(3, 1024), false],
  ['with other steps', sequence(2, 2048), false],
])('a sequence %s', (_what, own, right) => {
  const expected = right ? [] : [`shard:b ${NAME} ${ELSEWHERE}`];
  const told = (databases: ShardSequences[], interleaved?: boolean) =>
    judged(databases, interleaved).map(({ target, reason }) => `${target} ${reason}`);
  expect(told([CONTROL, shard('a', sequence(1, 1024)), shard('b', own)])).toEqual(expected);
  expect(told([shard('b', own, [ordinal('b', 1)])])).toEqual(expected);
  expect(told([CONTROL, shard('b', own)], false)).toEqual([]);
  expect(told([CONTROL, shard('new', own)])).toEqual([]);
});
