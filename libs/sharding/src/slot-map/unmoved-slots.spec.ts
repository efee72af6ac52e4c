import { describe, expect, it } from '@jest/globals';
import { createTopology } from '@app/routing';
import { mappedShards, type VerifiedMove } from './mapped-shard.js';
import { printUnmoved, slotsWithoutMove } from './unmoved-slots.js';

type Slots = Readonly<Record<string, string[]>>;

/** `a` to `c` in one group, and what each has. */
const shardsOf = (slots: Slots) =>
  mappedShards(
    createTopology(['a', 'b', 'c'].map((name, member) => ({ name, member, slots: slots[name] ?? [] }))),
  );

/** The versions, newest first, were recorded at 700, 600 and so on. */
function unmoved(versions: readonly Slots[], now: Slots, moves: readonly VerifiedMove[]): string[] {
  const recorded = versions.map((slots, age) => ({
    version: 7 - age,
    shards: shardsOf(slots),
    recordedAt: 100 * (7 - age),
  }));
  return slotsWithoutMove({ versions: recorded, current: shardsOf(now), moves }).map(printUnmoved);
}

const move = (path: string, slots = '9', verifiedAt = 701): VerifiedMove => {
  const [source = '', destination = ''] = path.split('->');
  return { group: 0, source, destination, slots, verifiedAt };
};

/** Slot 9, or 8 and 9, are with one of them; the others with `a`. */
const AT_A: Slots = { a: ['0-16383'] };
const AT_B: Slots = { a: ['0-8', '10-16383'], b: ['9'] };
const AT_C: Slots = { a: ['0-8', '10-16383'], c: ['9'] };
const BOTH_AT_B: Slots = { a: ['0-7', '10-16383'], b: ['8-9'] };

describe('the moves of a slot', () => {
  it.each<[string, Slots, VerifiedMove[], string[]]>([
    ['lead to its owner', AT_B, [move('a->b')], []],
    ['lead there and back', AT_B, [move('a->b'), move('b->a')], ['9 from a to b']],
    ['lead there, back and there', AT_B, [move('a->b'), move('b->a'), move('a->b')], []],
    ['lead on to its owner', AT_C, [move('a->b'), move('b->c')], []],
    ['lead on from its owner', AT_B, [move('a->b'), move('b->c')], ['9 from a to b']],
    ['are in another order', AT_C, [move('b->c'), move('a->b')], ['9 from a to c']],
    ['begin elsewhere', AT_C, [move('b->c')], ['9 from a to c']],
    ['lead in a circle', AT_C, [move('a->b'), move('b->a'), move('a->c')], []],
    ['are for some slots', BOTH_AT_B, [move('a->b', '8-9'), move('b->a', '8')], ['8 from a to b']],
    ['are for more slots', AT_B, [move('a->b', '0-16383')], []],
    ['are several', BOTH_AT_B, [move('a->b', '8'), move('a->b', '9')], []],
    ['are of another group', AT_B, [{ ...move('a->b'), group: 1 }], ['9 from a to b']],
    ['cannot be read', AT_B, [move('a->b', 'a few')], ['9 from a to b']],
    ['are of other slots', AT_B, [move('a->b', '10-20')], ['9 from a to b']],
  ])('%s', (_what, now, moves, left) => {
    expect(unmoved([AT_A], now, moves)).toEqual(left);
  });

  it.each<[string, number, Slots[], string[]]>([
    ['after the newest version', 701, [AT_A, AT_A], []],
    ['before a version that left it alone', 601, [AT_A, AT_A], []],
    ['after the first of many such', 401, [AT_A, AT_A, AT_A, AT_A], []],
    ['at the time of the first', 400, [AT_A, AT_A, AT_A, AT_A], ['9 from a to b']],
    ['before the first', 399, [AT_A, AT_A, AT_A, AT_A], ['9 from a to b']],
    ['before it came back to its owner', 450, [AT_A, AT_A, AT_B, AT_A], ['9 from a to b']],
  ])('count that were verified %s: at %i', (_what, verifiedAt, versions, left) => {
    expect(unmoved(versions, AT_B, [move('a->b', '9', verifiedAt)])).toEqual(left);
  });

  it('count each by its own owner', () => {
    const early = move('a->b', '8-9', 650);
    expect(unmoved([AT_A, AT_A], BOTH_AT_B, [early])).toEqual([]);
    expect(unmoved([AT_A, AT_B, AT_A], BOTH_AT_B, [early])).toEqual(['9 from a to b']);
  });
});
