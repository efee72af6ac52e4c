import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MAX_GROUP, MAX_MEMBER, ShardedUuid, ShardedUuidGenerator, ShardIdentifier } from './index.js';
import { listOf } from './list-of.js';

interface Golden {
  readonly shardedUuid: {
    readonly timestampMs: string;
    readonly randA: string;
    readonly random48: string;
    readonly text: Readonly<Record<string, string>>;
  };
}

const { shardedUuid: golden } = JSON.parse(
  readFileSync(new URL('../spec/golden-vectors.json', import.meta.url), 'utf8'),
) as Golden;

const MS = Number(golden.timestampMs);
const LAYOUT = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const shard = ShardIdentifier.of(2, 5);

/** The bytes over and over: rand_a in bits 4 to 15, then the 48 random bits. */
const repeating = (hex: string) => (size: number) => Buffer.alloc(size, hex, 'hex');
const goldenBytes = `0${golden.randA.slice(2)}${golden.random48.slice(2)}`;

const identifierOf = (pair: string) => {
  const [group = NaN, member = NaN] = pair.split(',').map(Number);
  return ShardIdentifier.of(group, member);
};

/** Positions at which the order is not strictly ascending. */
function disorder(ids: readonly string[]): number[] {
  return ids.flatMap((id, i) => (i > 0 && id <= ids[i - 1]! ? [i] : []));
}

describe('the golden vectors', () => {
  it.each(Object.entries(golden.text))('(%s) is %s', (pair, text) => {
    const generator = new ShardedUuidGenerator({ now: () => MS, randomBytes: repeating(goldenBytes) });
    expect(generator.generate(identifierOf(pair))).toBe(text);
    expect(ShardedUuid.parse(text)).toBe(text);
    expect(ShardedUuid.identifier(text).equals(identifierOf(pair))).toBe(true);
    expect(ShardedUuid.timestamp(text)).toEqual(new Date(MS));
  });
});

describe('an id', () => {
  it('carries each of the 16,384 identifiers, with version 7 and the variant', () => {
    const texts = new Set<string>();
    for (let group = 0; group <= MAX_GROUP; group++) {
      for (let member = 0; member <= MAX_MEMBER; member++) {
        const id = ShardedUuid.generate(ShardIdentifier.of(group, member));
        const read = ShardedUuid.identifier(id);
        if (LAYOUT.test(id) && read.group === group && read.member === member) texts.add(id);
      }
    }
    expect(texts.size).toBe(16_384);
  });

  it('carries its millisecond, whatever the random bits are', () => {
    const ms = fc.integer({ min: 0, max: 2 ** 48 - 1 });
    const bytes = fc.uint8Array({ minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(ms, bytes, (at, chance) => {
        const randomBytes = (size: number) => Buffer.alloc(size, chance);
        const id = new ShardedUuidGenerator({ now: () => at, randomBytes }).generate(shard);
        expect(id).toMatch(LAYOUT);
        expect(ShardedUuid.timestamp(id).getTime()).toBe(at);
        expect(ShardedUuid.identifier(id)).toEqual(shard);
      }),
    );
  });

  it('is made now by the clock of the system', () => {
    const before = Date.now();
    const at = ShardedUuid.timestamp(new ShardedUuidGenerator().generate(shard)).getTime();
    expect(at).toBeGreaterThanOrEqual(before);
    expect(at).toBeLessThanOrEqual(Date.now());
  });

  it.each<[number, number]>([
    [256, 0],
    [0, 64],
    [-1, 0],
    [0, -1],
    [1.5, 0],
    [0, NaN],
  ])('is not made for (%p,%p)', (group, member) => {
    const refused = expect.objectContaining({ code: 'invalid_topology' });
    expect(() => ShardedUuid.generate({ group, member } as ShardIdentifier)).toThrow(refused);
  });
});

describe('ids of one process for one identifier ascend strictly', () => {
  it('10,000 in one frozen millisecond', () => {
    const generator = new ShardedUuidGenerator({ now: () => MS });
    const ids = Array.from({ length: 10_000 }, () => generator.generate(shard));
    expect(disorder(ids)).toEqual([]);
    expect(ids.every((id) => LAYOUT.test(id) && ShardedUuid.identifier(id).equals(shard))).toBe(true);
  });

  it('1,000,000 at full speed', () => {
    const generator = new ShardedUuidGenerator();
    let last: string = generator.generate(shard);
    let bad = 0;
    for (let i = 1; i < 1_000_000; i++) {
      const id: string = generator.generate(shard);
      if (id <= last) bad++;
      last = id;
    }
    expect(bad).toBe(0);
  });

  it('while the clock steps back, and on from there', () => {
    const times = [MS, MS, MS - 1, MS - 3_600_000, 0, MS - 1, MS, MS + 1, MS + 0.5, MS + 2];
    const clock = times.values();
    const generator = new ShardedUuidGenerator({ now: () => clock.next().value! });
    const ids = times.map(() => generator.generate(shard));
    expect(disorder(ids)).toEqual([]);
    const seen = ids.map((id) => ShardedUuid.timestamp(id).getTime() - MS);
    expect(seen).toEqual([0, 0, 0, 0, 0, 0, 0, 1, 1, 2]);
  });

  it('under a clock that counts fractions of milliseconds', () => {
    let now = MS;
    const generator = new ShardedUuidGenerator({ now: () => (now += 0.125) });
    const ids = Array.from({ length: 64 }, () => generator.generate(shard));
    expect(disorder(ids)).toEqual([]);
    expect(ShardedUuid.timestamp(ids.at(-1)!).getTime()).toBe(MS + 8);
  });

  it('when the tail is used up: the millisecond is advanced', () => {
    const generator = new ShardedUuidGenerator({ now: () => MS, randomBytes: repeating('ff') });
    const ids = Array.from({ length: 3 }, () => generator.generate(shard));
    expect(ids).toEqual([
      '0193a5b7-c000-7fff-8085-ffffffffffff',
      '0193a5b7-c001-7fff-8085-ffffffffffff',
      '0193a5b7-c002-7fff-8085-ffffffffffff',
    ]);
  });

  it('when the low half of the tail overflows: the carry goes through to rand_a', () => {
    const chance = ['0abcffff', 'fffffffe', '00000001'];
    const randomBytes = (size: number) =>
      Buffer.concat([Buffer.from(chance.join(''), 'hex'), Buffer.alloc(size - 12)]);
    const generator = new ShardedUuidGenerator({ now: () => MS, randomBytes });
    expect([generator.generate(shard), generator.generate(shard)]).toEqual([
      '0193a5b7-c000-7abc-8085-fffffffffffe',
      '0193a5b7-c000-7abd-8085-000000000000',
    ]);
  });

  it('under any clock and with any mix of identifiers', () => {
    const tick = fc.record({
      ms: fc.integer({ min: MS - 5, max: MS + 5 }),
      group: fc.nat(MAX_GROUP),
      member: fc.nat(MAX_MEMBER),
    });
    fc.assert(
      fc.property(fc.array(tick, { minLength: 1, maxLength: 200 }), (ticks) => {
        let now = MS;
        const generator = new ShardedUuidGenerator({ now: () => now });
        const ids = ticks.map(({ ms, group, member }) => {
          now = ms;
          return generator.generate(ShardIdentifier.of(group, member));
        });
        const byShard = new Map<string, string[]>();
        for (const id of ids) listOf(byShard, id.slice(19, 23)).push(id);
        for (const own of byShard.values()) expect(disorder(own)).toEqual([]);
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });
});

describe('a generator', () => {
  it('takes its chance from the source it is given, 4,096 bytes at a time', () => {
    const sizes: number[] = [];
    const randomBytes = (size: number) => {
      sizes.push(size);
      return Buffer.alloc(size, 7);
    };
    const generator = new ShardedUuidGenerator({ now: () => MS, randomBytes });
    expect(sizes).toEqual([]);
    for (let i = 0; i < 1024; i++) generator.generate(shard);
    expect(sizes).toEqual([4096, 4096]);
  });

  it('refuses a source that gives fewer bytes than asked for', () => {
    const generator = new ShardedUuidGenerator({ randomBytes: () => Buffer.alloc(8) });
    expect(() => generator.generate(shard)).toThrow(
      expect.objectContaining({
        code: 'invalid_options',
        message: 'randomBytes(4096) must answer with as many bytes',
      }),
    );
  });

  it.each([[NaN], [-1], [2 ** 48], [Infinity], [undefined]])('refuses a clock that says %p', (said) => {
    const generator = new ShardedUuidGenerator({ now: () => said as number });
    expect(() => generator.generate(shard)).toThrow(expect.objectContaining({ code: 'invalid_options' }));
  });

  it.each([1022, 1023])('stays in order when its source of chance fails after %i ids', (made) => {
    let failing = false;
    let now = MS;
    const randomBytes = (size: number) => {
      if (failing) throw new Error('no entropy');
      return Buffer.concat([Buffer.from('0fffff00', 'hex'), Buffer.alloc(size - 4)]);
    };
    const generator = new ShardedUuidGenerator({ now: () => now, randomBytes });
    const ids = Array.from({ length: made }, () => generator.generate(shard));
    failing = true;
    now = MS + 1;
    expect(() => generator.generate(shard)).toThrow('no entropy');
    failing = false;
    now = MS;
    ids.push(generator.generate(shard));
    expect(disorder(ids)).toEqual([]);
  });

  it('does not repeat what another one makes in the same millisecond', () => {
    const ids = Array.from({ length: 1000 }, () =>
      new ShardedUuidGenerator({ now: () => MS }).generate(shard),
    );
    expect(new Set(ids).size).toBe(1000);
  });
});
