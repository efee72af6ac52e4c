import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { numberShards, type RecordedOrdinal, type Records } from './assign-ordinals.js';

const STRIDE = 1024;

/** `a0` is the row of shard `a` with ordinal 0. */
const row = (text: string): RecordedOrdinal => ({
  name: text.charAt(0),
  ordinal: Number(text.slice(1)),
  stride: STRIDE,
});
const rows = (text: string) => text.split(' ').filter(Boolean).map(row);

/** Who has which; the names of the silent ones behind a question mark. */
function numbered(shards: string, control: string, there: Record<string, string>): string {
  const records = {
    control: rows(control),
    shards: new Map(Object.entries(there).map(([name, text]) => [name, rows(text)])),
  };
  const { known, silent } = numberShards(shards.split(''), records, STRIDE);
  const sorted = known.map(({ name, ordinal }) => `${name}${ordinal}`).toSorted();
  return [...sorted, ...silent.map((name) => `?${name}`)].join(' ');
}

it.each([
  ['nothing is recorded', 'abc', '', { a: '', b: '', c: '' }, 'a0 b1 c2'],
  ['the control database has all, and nobody answers', 'ab', 'a0 b1', {}, 'a0 b1'],
  ['the control database is new', 'dabc', '', { a: 'a0', b: 'b1', c: 'c2', d: '' }, 'a0 b1 c2 d3'],
  ['a shard that went is known to it', 'ad', 'a0 b1', { a: 'a0', d: '' }, 'a0 d2'],
  ['a shard that has none does not answer', 'abc', 'a0', { a: 'a0', c: '' }, 'a0 ?b'],
  ['a shard that has one there does not answer', 'abc', 'a0 b1', { a: 'a0', c: '' }, 'a0 b1 c2'],
  ['a shard has another name now', 'xb', '', { x: 'a0', b: 'b1' }, 'b1 x0'],
  ['a shard has another name now than there', 'xb', 'a0 b1', { x: 'a0', b: 'b1' }, 'b1 x0'],
  ['a shard was renamed there already', 'xb', 'x0 b1', { x: 'a0', b: 'b1' }, 'b1 x0'],
  ['one is renamed, another is new', 'yx', '', { x: 'a0', y: '' }, 'x0 y1'],
  ['a shard is a copy of another', 'ab', '', { a: 'a0', b: 'a0' }, 'a0 b1'],
  ['a copy keeps what it was given', 'ab', '', { a: 'a0', b: 'a0 b1' }, 'a0 b1'],
  ['a copy knows more than the original', 'ab', '', { a: '', b: 'a4' }, 'a5 b6'],
  ['two shards are in one database', 'abc', '', { a: 'a0 b1', b: 'a0 b1', c: '' }, 'a0 b1 c2'],
  ['a shard is in the database of control', 'ad', 'a0 b1', { a: 'a0 b1', d: 'a0 b1' }, 'a0 d2'],
])('%s', (_title, shards, control, there, expected) =>
  expect(numbered(shards, control, there as Record<string, string>)).toBe(expected),
);

describe('refuses', () => {
  it('two shards with the same ids', () => {
    expect(() => numbered('xy', '', { x: 'a0', y: 'a0' })).toThrow(
      'shards "x" and "y" have both recorded ordinal 0: they give the same ids. Delete that row of _sharding_identities on one of them, on the copy if it is one, and migrate again',
    );
  });

  it('another ordinal on the control database', () => {
    expect(() => numbered('ab', 'a5', { a: 'a0', b: '' })).toThrow(
      'shard "a" gives the ids of ordinal 0, as it has recorded, and the control database has ordinal 5 for it. Set the row of _sharding_identities on the control database to 0, and migrate again',
    );
  });

  it('an ordinal that the control database has given to another', () => {
    for (const shards of ['ab', 'azb']) {
      expect(() => numbered(shards, 'z0', { a: 'a0', b: '' })).toThrow(
        'shard "a" gives the ids of ordinal 0, as it has recorded, and the control database has given that to "z". Where that is the former name of the shard, rename the row of _sharding_identities on the control database; else delete the row on the shard, and migrate again',
      );
    }
  });

  it('the shard for which the stride has no room', () => {
    const none = { control: [], shards: new Map(['a', 'b', 'c'].map((name) => [name, []])) };
    expect(numberShards(['a', 'b'], none, 2).known).toHaveLength(2);
    expect(() => numberShards(['a', 'b', 'c'], none, 2)).toThrow(
      'shard "c" would be number 3 in the life of this deployment, and identity_stride = 2 has room for 2',
    );
  });

  it('another stride than that of anybody', () => {
    const records = { control: [], shards: new Map([['a', [{ ...row('a0'), stride: 8 }]]]) };
    expect(() => numberShards(['a'], records, STRIDE)).toThrow('identity_stride is 1024, and');
  });
});

const name = fc.constantFrom(...'abcdefgh');
const lives = fc.array(
  fc.record({
    shards: fc.uniqueArray(name, { minLength: 1 }),
    control: fc.constantFrom('there', 'emptied', 'none'),
  }),
  { maxLength: 8 },
);

it('no shard ever changes its ordinal, and no two have one, whether control comes, goes or forgets', () => {
  fc.assert(
    fc.property(lives, (runs) => {
      const shards = new Map([...'abcdefgh'].map((one) => [one, [] as RecordedOrdinal[]]));
      let control: readonly RecordedOrdinal[] = [];
      for (const run of runs) {
        if (run.control === 'emptied') control = [];
        const records: Records = { control: run.control === 'none' ? [] : control, shards };
        // all databases that ever were a shard are asked: what a shard that went has kept to itself nobody else can know
        const { known } = numberShards([...new Set([...run.shards, ...gone(shards)])], records, STRIDE);
        if (run.control !== 'none') control = known;
        for (const one of known) {
          const before = shards.get(one.name)?.[0];
          expect(one.ordinal).toBe(before?.ordinal ?? one.ordinal);
          shards.set(one.name, [{ name: one.name, ordinal: one.ordinal, stride: STRIDE }]);
        }
        const given = [...shards.values()].flat().map(({ ordinal }) => ordinal);
        expect(new Set(given).size).toBe(given.length);
      }
    }),
  );
});

const gone = (shards: ReadonlyMap<string, readonly unknown[]>) =>
  [...shards].filter(([, noted]) => noted.length > 0).map(([one]) => one);
