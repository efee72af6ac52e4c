import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { hashOfString } from '@app/routing';
import { KeyTable } from './key-table.js';

/** Few keys, so that they meet again, and some that share a hash or a home. */
const key = fc.oneof(
  fc.integer({ min: 0, max: 40 }).map((number) => `tenant-${number}`),
  fc.constantFrom('', '__proto__', 'constructor', 'café', '日本', '🏢'),
);

it('is a map, whatever is set and deleted in whatever order', () => {
  const step = fc.tuple(fc.constantFrom('set', 'delete'), key, fc.nat());
  fc.assert(
    fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
      const table = new KeyTable<number>();
      const map = new Map<string, number>();
      for (const [what, of, value] of steps) {
        if (what === 'set') {
          table.set(of, value);
          map.set(of, value);
        } else expect(table.delete(of)).toBe(map.delete(of));
      }
      expect(table.size).toBe(map.size);
      expect(new Map(table.entries())).toEqual(map);
      expect(new Set(table.keys())).toEqual(new Set(map.keys()));
      for (const [of, value] of map) expect(table.get(of, hashOfString(of))).toBe(value);
    }),
    { numRuns: 500 },
  );
});

it('finds nothing under a key that only shares its hash', () => {
  const table = new KeyTable<string>();
  table.set('acme', 'shard0');
  const hash = hashOfString('acme');
  expect(table.get('globex', hash)).toBeUndefined();
  expect(table.get('acme', hash)).toBe('shard0');
});

it('keeps a hundred thousand keys apart, also when every second one has gone', () => {
  const table = new KeyTable<number>();
  const keys = Array.from({ length: 100_000 }, (_none, index) => `tenant-${index}`);
  for (const [index, of] of keys.entries()) table.set(of, index);
  for (let index = 0; index < keys.length; index += 2) table.delete(keys[index]!);
  const wrong = keys.filter(
    (of, index) => table.get(of, hashOfString(of)) !== (index % 2 === 0 ? undefined : index),
  );
  expect([table.size, wrong]).toEqual([50_000, []]);
});
