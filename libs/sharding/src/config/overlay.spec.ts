import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { layOver } from './overlay.js';

const table = fc.dictionary(
  fc.constantFrom('a', 'b', 'c'),
  fc.oneof(fc.integer(), fc.array(fc.integer()), fc.boolean()),
);

describe('an overlay', () => {
  it('replaces values and lists, and merges tables key by key', () => {
    const base = { database: { poolSize: 1, url: 'x' }, tenancy: { publicPaths: ['/a', '/b'] } };
    const overlay = { database: { poolSize: 2 }, tenancy: { publicPaths: ['/c'] }, entities: [] };
    expect(layOver(base, overlay)).toEqual({
      database: { poolSize: 2, url: 'x' },
      tenancy: { publicPaths: ['/c'] },
      entities: [],
    });
  });

  it('leaves the base alone where it is undefined', () => {
    const base = { tenancy: { source: 'jwt' }, database: { poolSize: 1 } };
    expect(layOver(base, { tenancy: undefined, database: { poolSize: undefined } })).toEqual(base);
  });

  it('changes neither of its arguments', () => {
    const base = { database: { shards: [{ name: 'a', group: 1 }] } };
    const overlay = { database: { shards: [{ name: 'a', group: 2 }] } };
    const before = structuredClone([base, overlay]);
    layOver(base, overlay);
    expect([base, overlay]).toEqual(before);
  });

  it('is the base without an overlay, the overlay without a base, and the later of two wins (any tables)', () => {
    fc.assert(
      fc.property(table, table, table, (one, two, three) => {
        expect(layOver(one, {})).toEqual(one);
        expect(layOver({}, one)).toEqual(one);
        expect(layOver(layOver(one, two), three)).toEqual(layOver(one, layOver(two, three)));
      }),
    );
  });
});

describe('shards in an overlay', () => {
  const base = { shards: [{ name: 'a', slots: ['0'], group: 1 }, { name: 'b' }] };

  it('merge by name wherever they stand, and new names are appended', () => {
    const overlay = { shards: [{ name: 'c' }, { name: 'b', slots: ['7'] }, { name: 'a', slots: [] }] };
    expect(layOver(base, overlay)).toEqual({
      shards: [{ name: 'a', slots: [], group: 1 }, { name: 'b', slots: ['7'] }, { name: 'c' }],
    });
  });

  it('are not the migrations of the shards, whose list is replaced', () => {
    const [one, other] = [{ shards: ['a.js', 'b.js'] }, { shards: [class Other {}] }];
    expect(layOver(one, other)).toEqual(other);
    expect(layOver(other, one)).toEqual(one);
    expect(layOver(one, { shards: [] })).toEqual({ shards: [] });
  });

  it('that repeat a name, or have none, stay for the check to name', () => {
    const overlay = { shards: [{ name: 'b', group: 1 }, { name: 'b', group: 2 }, { group: 3 }, 'x'] };
    const unnamed = { shards: [{ group: 9 }] };
    expect(layOver(base, overlay)).toEqual({
      shards: [base.shards[0], { name: 'b', group: 1 }, { name: 'b', group: 2 }, { group: 3 }, 'x'],
    });
    expect(layOver(unnamed, unnamed)).toEqual({ shards: [{ group: 9 }, { group: 9 }] });
  });
});
