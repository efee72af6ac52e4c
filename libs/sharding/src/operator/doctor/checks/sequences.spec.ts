import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canCollide, sequenceVerdicts } from './sequences.js';
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

const shards = [
  { target: 'shard:a', sequences: [sequence(1, 1024)] },
  { target: 'shard:b', sequences: [sequence(2, 1024)] },
  { target: 'shard:c', sequences: [sequence(1026, 1024)] },
];

it.each([
  [true, 'warning'],
  [false, 'info'],
])('with interleave_identities = %s it is a %s, once for each sequence', (interleaveIdentities, severity) => {
  expect(sequenceVerdicts(shards, { interleaveIdentities, identityStride: 1024 })).toEqual([
    {
      severity,
      target: 'shard:c',
      reason:
        'the sequence notes_id_seq (notes.id) gives out ids that it gives out on shard:b too, so that rows cannot be moved with their ids',
      remedy:
        'give it the same increment on every shard (1024), and on each shard another start modulo that increment, above the ids that are there',
    },
  ]);
});
