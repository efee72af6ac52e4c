import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newOrdinals, type RecordedOrdinal } from './assign-ordinals.js';

const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 12 });

it('gives each shard one of its own for ever, whatever comes and goes', () => {
  fc.assert(
    fc.property(fc.array(names, { maxLength: 6 }), (lives) => {
      let recorded: RecordedOrdinal[] = [];
      for (const shards of lives) {
        const before = recorded;
        recorded = [...before, ...newOrdinals(shards, before, 1024)];
        expect(recorded.slice(0, before.length)).toEqual(before);
        expect(shards.every((name) => recorded.some((row) => row.name === name))).toBe(true);
      }
      expect(recorded.map(({ ordinal }) => ordinal)).toEqual(recorded.map((_row, index) => index));
      expect(new Set(recorded.map(({ name }) => name)).size).toBe(recorded.length);
    }),
  );
});

it('refuses the shard for which the stride has no room', () => {
  expect(newOrdinals(['a', 'b'], [], 2)).toHaveLength(2);
  expect(() => newOrdinals(['a', 'b', 'c'], [], 2)).toThrow(
    'shard "c" would be number 3 in the life of this deployment, and identity_stride = 2 has room for 2',
  );
});
