import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  ShardedUuid,
  ShardedUuidGenerator,
  ShardIdentifier,
  ShardingError,
  type ShardedId,
} from './index.js';

const shard = ShardIdentifier.of(2, 5);
const VALID = '0193a5b7-c000-7abc-8085-123456789abc';

describe('ShardedUuid.parse', () => {
  it('accepts upper case and answers in lower case', () => {
    expect(ShardedUuid.parse(VALID.toUpperCase())).toBe(VALID);
    expect(ShardedUuid.identifier(VALID.toUpperCase())).toEqual(shard);
  });

  const none = 'a ShardedUuid is a UUID, 36 characters with hyphens; this text is none';
  const version = 'a ShardedUuid is a UUID of version 7; this one is of another';
  const variant = 'a ShardedUuid is a UUID of the RFC 9562 variant; this one is of another';
  it.each<[unknown, string]>([
    ['', none],
    ['secret-tenant', none],
    [` ${VALID}`, none],
    [`${VALID}\n`, none],
    [`{${VALID}}`, none],
    [`urn:uuid:${VALID}`, none],
    [VALID.replaceAll('-', ''), none],
    [VALID.replace('c', 'g'), none],
    [VALID.replace('-', '_'), none],
    ['\u212a'.repeat(36), none],
    ['x'.repeat(300), none],
    ['00000000-0000-0000-0000-000000000000', version],
    ['ffffffff-ffff-ffff-ffff-ffffffffffff', version],
    ['f47ac10b-58cc-4372-a567-0e02b2c3d479', version],
    ['0193a5b7-c000-8020-8005-123456789abc', version],
    ...[...'0123456', ...'89abcdef'].map((digit): [string, string] => [
      VALID.replace('7abc', `${digit}abc`),
      version,
    ]),
    ...[...'01234567', ...'cdef'].map((digit): [string, string] => [
      VALID.replace('-8085', `-${digit}085`),
      variant,
    ]),
    [undefined, 'a ShardedUuid is text, not undefined'],
    [null, 'a ShardedUuid is text, not null'],
    [7, 'a ShardedUuid is text, not a number'],
    [[VALID], 'a ShardedUuid is text, not an array'],
    [{ toString: () => VALID }, 'a ShardedUuid is text, not an object'],
  ])('refuses %p without echoing it', (text, message) => {
    for (const read of ['parse', 'identifier', 'timestamp'] as const) {
      expect(() => ShardedUuid[read](text as string)).toThrow(
        expect.objectContaining({ code: 'invalid_id', status: 400, message }),
      );
    }
  });

  it('puts no text of the id into the error, its stack or its cause', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 8 }), (text) => {
        const id = `~${text}`;
        try {
          ShardedUuid.parse(id);
          throw new Error('accepted');
        } catch (error) {
          expect(error).toBeInstanceOf(ShardingError);
          expect((error as ShardingError).message).toBe(none);
          expect((error as ShardingError).cause).toBeUndefined();
        }
      }),
    );
    expect(inspect(new ShardedUuidGenerator())).not.toMatch(/[0-9a-f]{8}/);
  });
});

describe('the id of one entity', () => {
  class Wallet {
    id!: ShardedId<Wallet>;
    balance!: number;
  }
  class Order {
    id!: ShardedId<Order>;
    total!: number;
  }
  const load = (id: ShardedId<Wallet>): string => id;

  it('does not compile where that of another is asked, nor does plain text', () => {
    const wallet = new Wallet();
    wallet.id = ShardedUuid.generate(shard);
    const parsed: ShardedId<Wallet> = ShardedUuid.parse(wallet.id);
    const order: ShardedId<Order> = ShardedUuid.generate<Order>(shard);
    const named: ShardedId<'wallet'> = ShardedUuid.generate(shard);
    expect([load(wallet.id), load(parsed)]).toEqual([wallet.id, wallet.id]);
    // @ts-expect-error an order is no wallet
    expect(load(order)).toBe(order);
    // @ts-expect-error text becomes an id by parse only
    expect(load(VALID)).toBe(VALID);
    // @ts-expect-error one name is not another
    const other: ShardedId<'order'> = named;
    expect(other).toBe(named);
    // @ts-expect-error an id of which no entity is known is of none
    expect(load(ShardedUuid.generate(shard) as ShardedId)).toHaveLength(36);
  });
});
