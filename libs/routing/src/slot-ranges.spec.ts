import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseSlots, printSlots, SLOT_COUNT, type SlotRange, type SlotSpec } from './index.js';

const GRAMMAR = 'write 5, "5" or "0-8191"';

describe('a slot spec', () => {
  it.each<[SlotSpec, number, number]>([
    [5, 5, 5],
    [0, 0, 0],
    [16383, 16383, 16383],
    ['5', 5, 5],
    ['0-8191', 0, 8191],
    ['7-7', 7, 7],
    [' 5 ', 5, 5],
    [' 3 - 9 ', 3, 9],
    ['3 -9', 3, 9],
    ['0007', 7, 7],
  ])('%j means %i to %i', (spec, first, last) => {
    expect(parseSlots([spec])).toEqual({ ranges: [{ first, last }], problems: [] });
  });

  it.each<[unknown, string]>([
    ['x', `invalid slot "x": ${GRAMMAR}`],
    ['', `invalid slot "": ${GRAMMAR}`],
    ['1-2-3', `invalid slot "1-2-3": ${GRAMMAR}`],
    ['-1', `invalid slot "-1": ${GRAMMAR}`],
    ['1-', `invalid slot "1-": ${GRAMMAR}`],
    ['1,2', `invalid slot "1,2": ${GRAMMAR}`],
    ['0x10', `invalid slot "0x10": ${GRAMMAR}`],
    ['1e3', `invalid slot "1e3": ${GRAMMAR}`],
    ['1 2', `invalid slot "1 2": ${GRAMMAR}`],
    ['１', `invalid slot "\\uff11": ${GRAMMAR}`],
    ['9'.repeat(100), `invalid slot "${'9'.repeat(60)}...": ${GRAMMAR}`],
    [5.5, `invalid slot 5.5: ${GRAMMAR}`],
    [NaN, `invalid slot NaN: ${GRAMMAR}`],
    [true, `invalid slot, a boolean: ${GRAMMAR}`],
    [null, `invalid slot, null: ${GRAMMAR}`],
    [[1], `invalid slot, an array: ${GRAMMAR}`],
    [-1, 'slot -1 is out of range (slots are 0..16383)'],
    [16384, 'slot 16384 is out of range (slots are 0..16383)'],
    ['16384', 'slot 16384 is out of range (slots are 0..16383)'],
    ['0-70000', 'slot 70000 is out of range (slots are 0..16383)'],
    ['70000-80000', 'slot 70000 is out of range (slots are 0..16383)'],
    ['9-3', 'inverted slot range "9-3": write "3-9"'],
  ])('%j is a problem', (spec, problem) => {
    expect(parseSlots([spec as SlotSpec])).toEqual({ ranges: [], problems: [problem] });
  });

  it('that cannot be read does not hide the others', () => {
    expect(parseSlots(['0-1', 'x', 5, '9-3'])).toEqual({
      ranges: [
        { first: 0, last: 1 },
        { first: 5, last: 5 },
      ],
      problems: [`invalid slot "x": ${GRAMMAR}`, 'inverted slot range "9-3": write "3-9"'],
    });
  });
});

describe('printing slots', () => {
  it.each<[Iterable<number | SlotRange>, string]>([
    [[], ''],
    [[7], '7'],
    [[0, 1, 2, 3], '0-3'],
    [[9000, 2, 0, 1, 2], '0-2, 9000'],
    [[{ first: 0, last: 8191 }, 9000], '0-8191, 9000'],
    [
      [
        { first: 0, last: 10 },
        { first: 5, last: 6 },
        { first: 11, last: 12 },
      ],
      '0-12',
    ],
    [new Set([5, 7]), '5, 7'],
    [Uint16Array.of(1, 2), '1-2'],
  ])('%# is compact', (slots, text) => expect(printSlots(slots)).toBe(text));

  it('and parsing them again gives the same slots', () => {
    const slot = fc.integer({ min: 0, max: SLOT_COUNT - 1 });
    fc.assert(
      fc.property(fc.uniqueArray(slot, { maxLength: 300 }), (slots) => {
        const text = printSlots(slots);
        const { ranges, problems } = parseSlots(text === '' ? [] : text.split(','));
        expect(problems).toEqual([]);
        expect(expand(ranges)).toEqual(slots.toSorted((a, b) => a - b));
        expect(printSlots(ranges)).toBe(text);
      }),
    );
  });
});

function expand(ranges: readonly SlotRange[]): number[] {
  return ranges.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, i) => first + i));
}
