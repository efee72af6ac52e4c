import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  MAX_GROUP,
  SLOT_COUNT,
  ShardedUuid,
  ShardIdentifier,
  slotOf,
  SlotUuid,
  SlotUuidGenerator,
  type RoutingKey,
  type ShardedId,
  type SlotPlace,
} from './index.js';
import { listOf } from './list-of.js';

interface Golden {
  readonly slotUuid: {
    readonly timestampMs: string;
    readonly random48: string;
    readonly text: Readonly<Record<string, string>>;
  };
}

const { slotUuid: golden } = JSON.parse(
  readFileSync(new URL('../spec/golden-vectors.json', import.meta.url), 'utf8'),
) as Golden;

const MS = Number(golden.timestampMs);
const LAYOUT = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{2}0-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const place: SlotPlace = { group: 2, slot: 77 };

const repeating = (hex: string) => (size: number) => Buffer.alloc(size, hex, 'hex');

/** 16 bits that are not used, then the 48 of the tail. */
const goldenBytes = `ffff${golden.random48.slice(2)}`;

const placeOf = (pair: string): SlotPlace => {
  const [group = NaN, slot = NaN] = pair.split(',').map(Number);
  return { group, slot };
};

const readPlace = (id: string): SlotPlace => ({ group: SlotUuid.group(id), slot: SlotUuid.slot(id) });

/** Positions at which the order is not strictly ascending. */
function disorder(ids: readonly string[]): number[] {
  return ids.flatMap((id, i) => (i > 0 && id <= ids[i - 1]! ? [i] : []));
}

describe('the golden vectors', () => {
  it.each(Object.entries(golden.text))('(%s) is %s', (pair, text) => {
    const generator = new SlotUuidGenerator({ now: () => MS, randomBytes: repeating(goldenBytes) });
    expect(generator.generate(placeOf(pair))).toBe(text);
    expect(SlotUuid.parse(text)).toBe(text);
    expect(readPlace(text)).toEqual(placeOf(pair));
    expect(SlotUuid.timestamp(text)).toEqual(new Date(MS));
  });
});

describe('an id', () => {
  it('carries each of the 16,384 slots, in the first and the last group', () => {
    const texts = new Set<string>();
    for (const group of [0, MAX_GROUP]) {
      for (let slot = 0; slot < SLOT_COUNT; slot++) {
        const id = SlotUuid.generate({ group, slot });
        if (LAYOUT.test(id) && SlotUuid.slot(id) === slot && SlotUuid.group(id) === group) texts.add(id);
      }
    }
    expect(texts.size).toBe(2 * 16_384);
  });

  it('carries each of the 256 groups, its slot and its millisecond, whatever the random bits are', () => {
    const group = fc.nat(MAX_GROUP);
    const slot = fc.nat(SLOT_COUNT - 1);
    const bytes = fc.uint8Array({ minLength: 8, maxLength: 8 });
    const ms = fc.integer({ min: 0, max: 2 ** 48 - 1 });
    fc.assert(
      fc.property(fc.tuple(group, slot, ms), bytes, ([inGroup, ofSlot, at], chance) => {
        const randomBytes = (size: number) => Buffer.alloc(size, chance);
        const generator = new SlotUuidGenerator({ now: () => at, randomBytes });
        const id = generator.generate({ group: inGroup, slot: ofSlot });
        expect(id).toMatch(LAYOUT);
        expect(readPlace(id)).toEqual({ group: inGroup, slot: ofSlot });
        expect(SlotUuid.timestamp(id).getTime()).toBe(at);
      }),
      { numRuns: 500 },
    );
  });

  it.each<[RoutingKey]>([['tenant-1'], [''], [42], [-1n], [Uint8Array.of(1, 2)], [Buffer.from('acme')]])(
    'of the key %p carries its slot, in group 0 or the group given',
    (key) => {
      expect(readPlace(SlotUuid.generate(key))).toEqual({ group: 0, slot: slotOf(key) });
      expect(readPlace(SlotUuid.generate(key, 9))).toEqual({ group: 9, slot: slotOf(key) });
    },
  );

  it.each<[unknown, string]>([
    [{ group: 0, slot: 16384 }, 'invalid_slot'],
    [{ group: 0, slot: -1 }, 'invalid_slot'],
    [{ group: 0, slot: 1.5 }, 'invalid_slot'],
    [{ group: 0 }, 'invalid_slot'],
    [{ group: 256, slot: 0 }, 'invalid_topology'],
    [{ group: -1, slot: 0 }, 'invalid_topology'],
    [{ slot: 0 }, 'invalid_topology'],
    [ShardIdentifier.DEFAULT, 'invalid_slot'],
    [null, 'invalid_routing_key'],
    [undefined, 'invalid_routing_key'],
    [1.5, 'invalid_routing_key'],
  ])('is not made for %p', (of, code) => {
    expect(() => SlotUuid.generate(of as RoutingKey)).toThrow(expect.objectContaining({ code }));
  });

  it('is not made for a group that is none', () => {
    const refused = expect.objectContaining({
      code: 'invalid_topology',
      message: 'group must be an integer in 0..255, not 300',
    });
    expect(() => SlotUuid.generate('acme', 300)).toThrow(refused);
  });
});

describe('ids of one process for one slot ascend strictly', () => {
  it('10,000 in one frozen millisecond', () => {
    const generator = new SlotUuidGenerator({ now: () => MS });
    const ids = Array.from({ length: 10_000 }, () => generator.generate(place));
    expect(disorder(ids)).toEqual([]);
    expect(ids.every((id) => LAYOUT.test(id) && SlotUuid.slot(id) === 77 && SlotUuid.group(id) === 2)).toBe(
      true,
    );
  });

  it('1,000,000 at full speed', () => {
    const generator = new SlotUuidGenerator();
    let last: string = generator.generate(place);
    let bad = 0;
    for (let i = 1; i < 1_000_000; i++) {
      const id: string = generator.generate(place);
      if (id <= last) bad++;
      last = id;
    }
    expect(bad).toBe(0);
  });

  it('while the clock steps back, and on from there', () => {
    const times = [MS, MS - 1, MS - 3_600_000, MS, MS + 1, MS];
    const clock = times.values();
    const generator = new SlotUuidGenerator({
      now: () => clock.next().value!,
      randomBytes: repeating('00000100'),
    });
    const ids = times.map(() => generator.generate(place));
    expect(disorder(ids)).toEqual([]);
    expect(ids.map((id) => SlotUuid.timestamp(id).getTime() - MS)).toEqual([0, 0, 0, 0, 1, 1]);
  });

  it('within a millisecond by a random step of at most 2^32', () => {
    const generator = new SlotUuidGenerator({ now: () => MS });
    const ids = Array.from({ length: 1000 }, () => generator.generate(place));
    const tails = ids
      .filter((id) => id.startsWith(ids[0]!.slice(0, 13)))
      .map((id) => BigInt(`0x${id.slice(24)}`));
    const steps = tails.slice(1).map((tail, i) => tail - tails[i]!);
    expect(steps.filter((step) => step < 1n || step > 2n ** 32n)).toEqual([]);
    expect(new Set(steps).size).toBeGreaterThan(steps.length - 5);
  });

  it('when the tail is used up: the millisecond is advanced and the tail is random anew', () => {
    const generator = new SlotUuidGenerator({ now: () => MS, randomBytes: repeating('ff') });
    expect([generator.generate(place), generator.generate(place)]).toEqual([
      '0193a5b7-c000-8020-804d-ffffffffffff',
      '0193a5b7-c001-8020-804d-ffffffffffff',
    ]);
  });

  it('for any mix of slots and groups under any clock', () => {
    const tick = fc.record({
      ms: fc.integer({ min: MS - 5, max: MS + 5 }),
      group: fc.nat(2),
      slot: fc.nat(4),
    });
    fc.assert(
      fc.property(fc.array(tick, { minLength: 1, maxLength: 200 }), (ticks) => {
        let now = MS;
        const generator = new SlotUuidGenerator({ now: () => now });
        const bySlot = new Map<string, string[]>();
        for (const { ms, group, slot } of ticks) {
          now = ms;
          listOf(bySlot, `${group},${slot}`).push(generator.generate({ group, slot }));
        }
        for (const own of bySlot.values()) expect(disorder(own)).toEqual([]);
      }),
    );
  });
});

const VALID = '0193a5b7-c000-8020-804d-123456789abc';

describe('parse', () => {
  it('accepts upper case and answers in lower case', () => {
    expect(SlotUuid.parse(VALID.toUpperCase())).toBe(VALID);
    expect(readPlace(VALID.toUpperCase())).toEqual(place);
  });

  const none = 'a SlotUuid is a UUID, 36 characters with hyphens; this text is none';
  const version = 'a SlotUuid is a UUID of version 8; this one is of another';
  const variant = 'a SlotUuid is a UUID of the RFC 9562 variant; this one is of another';
  const zeros = 'a SlotUuid has four zero bits after its group; this UUID has others';
  it.each<[unknown, string]>([
    ['', none],
    ['secret-tenant', none],
    [`${VALID}\n`, none],
    [VALID.replaceAll('-', ''), none],
    ['00000000-0000-0000-0000-000000000000', version],
    ['ffffffff-ffff-ffff-ffff-ffffffffffff', version],
    ...[...'012345679', ...'abcdef'].map((digit): [string, string] => [
      VALID.replace('8020', `${digit}020`),
      version,
    ]),
    ...[...'01234567', ...'cdef'].map((digit): [string, string] => [
      VALID.replace('804d', `${digit}04d`),
      variant,
    ]),
    ...[...'123456789', ...'abcdef'].map((digit): [string, string] => [
      VALID.replace('8020', `802${digit}`),
      zeros,
    ]),
    [undefined, 'a SlotUuid is text, not undefined'],
    [8, 'a SlotUuid is text, not a number'],
  ])('refuses %p without echoing it', (text, message) => {
    for (const read of ['parse', 'slot', 'group', 'timestamp'] as const) {
      expect(() => SlotUuid[read](text as string)).toThrow(
        expect.objectContaining({ code: 'invalid_id', status: 400, message }),
      );
    }
  });

  it('takes no foreign UUID of version 4 or 7 for one, nor one kind for the other', () => {
    const refused = expect.objectContaining({ code: 'invalid_id' });
    for (const version of [1, 4, 7] as const) {
      fc.assert(
        fc.property(fc.uuid({ version }), (foreign) => {
          expect(() => SlotUuid.parse(foreign)).toThrow(refused);
        }),
      );
    }
    expect(() => SlotUuid.slot(ShardedUuid.generate(ShardIdentifier.DEFAULT))).toThrow(refused);
    expect(() => ShardedUuid.identifier(SlotUuid.generate('acme'))).toThrow(refused);
  });
});

it('the id of one entity does not compile where that of another is asked', () => {
  interface Wallet {
    readonly balance: number;
  }
  interface Order {
    readonly total: number;
  }
  const wallet: ShardedId<Wallet> = SlotUuid.generate('acme');
  expect(wallet).toMatch(LAYOUT);
  // @ts-expect-error a wallet is no order
  const order: ShardedId<Order> = SlotUuid.generate<Wallet>(place);
  expect(SlotUuid.parse<Order>(order)).toBe(order);
});
