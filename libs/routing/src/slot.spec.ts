import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { SLOT_COUNT, slotOf } from './index.js';

interface GoldenVectors {
  readonly slotCount: number;
  readonly string: Readonly<Record<string, number>>;
  readonly integer: Readonly<Record<string, number>>;
  readonly bytesHex: Readonly<Record<string, number>>;
}

const golden = JSON.parse(
  readFileSync(new URL('../spec/golden-vectors.json', import.meta.url), 'utf8'),
) as GoldenVectors;

describe('the golden vectors', () => {
  it('count 16,384 slots', () => expect(SLOT_COUNT).toBe(golden.slotCount));

  it.each(Object.entries(golden.string))('string %j -> %i', (key, slot) => expect(slotOf(key)).toBe(slot));

  it.each(Object.entries(golden.integer))('integer %s -> %i', (key, slot) => {
    expect(slotOf(BigInt(key))).toBe(slot);
    if (Number.isSafeInteger(Number(key))) expect(slotOf(Number(key))).toBe(slot);
  });

  it.each(Object.entries(golden.bytesHex))('bytes %s -> %i', (hex, slot) => {
    expect(slotOf(Buffer.from(hex, 'hex'))).toBe(slot);
    expect(slotOf(Uint8Array.from(Buffer.from(hex, 'hex')))).toBe(slot);
  });
});

const MASK64 = (1n << 64n) - 1n;

/** The documented algorithms, literally, over all 64 bits. */
function fnv1a64(bytes: Uint8Array): bigint {
  return bytes.reduce((hash, byte) => ((hash ^ BigInt(byte)) * 0x100000001b3n) & MASK64, 0xcbf29ce484222325n);
}

function splitmix64(value: bigint): bigint {
  let x = (BigInt.asUintN(64, value) + 0x9e3779b97f4a7c15n) & MASK64;
  x = ((x ^ (x >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK64;
  x = ((x ^ (x >> 27n)) * 0x94d049bb133111ebn) & MASK64;
  return x ^ (x >> 31n);
}

const slotOfHash = (hash: bigint) => Number(hash % 16384n);
const utf8 = (text: string) => new TextEncoder().encode(text);

/** Well-formed text without NUL: full Unicode, with each UTF-8 length well represented. */
const text = (constraints: fc.StringConstraints = {}) =>
  fc
    .string({
      unit: fc.oneof(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
        fc.constantFrom(
          'a',
          '\u007f',
          '\u0080',
          '\u07ff',
          '\u0800',
          '\uffff',
          '\u{10000}',
          '\u{10ffff}',
          '🏢',
        ),
      ),
      ...constraints,
    })
    .map((value) => value.replaceAll('\0', '0'));

describe('an independent implementation over all 64 bits agrees', () => {
  it('on the raw hashes that are known', () => {
    expect(fnv1a64(utf8('tenant-1')).toString(16)).toBe('c2efb128e3ebf08b');
    expect(fnv1a64(utf8('a')).toString(16)).toBe('af63dc4c8601ec8c');
    expect(splitmix64(0n).toString(16)).toBe('e220a8397b1dcdaf');
    expect(splitmix64(-1n).toString(16)).toBe('e4d971771b652c20');
  });

  it('on 10,000 random strings and their bytes', () => {
    fc.assert(
      fc.property(text({ maxLength: 60 }), (key) => {
        const slot = slotOfHash(fnv1a64(utf8(key)));
        expect([slotOf(key), slotOf(utf8(key))]).toEqual([slot, slot]);
      }),
      {
        numRuns: 10_000,
        examples: [[''], ['a'], ['x'.repeat(200)], ['é'.repeat(100)], ['🏢'.repeat(50)], ['münchen🏢']],
      },
    );
  });

  it('on 10,000 random integers of every size and sign', () => {
    const integer = fc.oneof(
      fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n),
      fc.maxSafeInteger().map(BigInt),
      fc.integer().map(BigInt),
    );
    fc.assert(
      fc.property(integer, (key) => {
        const slot = slotOfHash(splitmix64(key));
        expect(slotOf(key)).toBe(slot);
        if (Number.isSafeInteger(Number(key))) expect(slotOf(Number(key))).toBe(slot);
      }),
      {
        numRuns: 10_000,
        examples: [[0n], [-1n], [2n ** 31n], [2n ** 32n], [-(2n ** 32n)], [2n ** 53n - 1n], [1n - 2n ** 53n]],
      },
    );
  });

  it('on 10,000 random byte strings', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (key) =>
        expect(slotOf(key)).toBe(slotOfHash(fnv1a64(key))),
      ),
      { numRuns: 10_000 },
    );
  });

  it('on hashes whose top bit is set: the slot is never negative', () => {
    const keys = Array.from({ length: 1000 }, (_, n) => `tenant-${n}`);
    const high = keys.filter((key) => fnv1a64(utf8(key)) >> 63n === 1n);
    expect(high.length).toBeGreaterThan(300);
    expect(high.map((key) => slotOf(key))).toEqual(high.map((key) => slotOfHash(fnv1a64(utf8(key)))));
    const negative = Array.from({ length: 1000 }, (_, n) => -n - 1);
    expect(negative.map((key) => slotOf(key))).toEqual(
      negative.map((key) => slotOfHash(splitmix64(BigInt(key)))),
    );
  });
});

describe('one number, one answer', () => {
  it('as number and bigint', () => {
    expect([slotOf(42), slotOf(42n)]).toEqual([11925, 11925]);
    expect([slotOf(-1), slotOf(-1n)]).toEqual([11296, 11296]);
  });

  it('but its text is another key, and hashed verbatim', () => {
    expect([slotOf('42'), slotOf('042'), slotOf('42 ')]).toEqual([4643, 11785, 6937]);
    expect(slotOf(1)).not.toBe(slotOf('1'));
  });

  it('and the bytes of a UUID are another key than its text', () => {
    expect(slotOf('00000000-0000-0000-0000-000000000001')).toBe(6206);
    expect(slotOf(Uint8Array.from({ length: 16 }, (_, i) => (i === 15 ? 1 : 0)))).toBe(8882);
  });

  it('and composed and decomposed text are different keys: no normalisation', () => {
    expect(slotOf('café')).not.toBe(slotOf('café'.normalize('NFD')));
  });
});

describe('the spread', () => {
  it('of 10,000 integers over 16 buckets stays within half and double of the mean', () => {
    const buckets = Array.from({ length: 16 }, () => 0);
    for (let key = 0; key < 10_000; key++) buckets[Math.floor(slotOf(key) / 1024)]! += 1;
    expect(Math.min(...buckets)).toBeGreaterThan(312.5);
    expect(Math.max(...buckets)).toBeLessThan(1250);
  });
});
