import { assertRoutingKey, isBytes, type RoutingKey } from './routing-key.js';

/** How many slots there are. Fixed for ever, see `CONTRACT.md`. */
export const SLOT_COUNT = 16384;

const SLOT_MASK = SLOT_COUNT - 1;

/** The FNV-1a 64 offset basis 0xcbf29ce484222325 and prime 0x100000001b3, as far as they reach the low 32 bits. */
const FNV_BASIS = 0x84222325 | 0;
const FNV_PRIME = 0x1b3;

/**
 * The slot of a key, 0..16383: the unsigned 64-bit hash modulo 16384.
 *
 * - strings: FNV-1a 64 over their UTF-8 bytes; `Uint8Array`: FNV-1a 64 over the bytes;
 * - integers (`number` or `bigint`): splitmix64 of the value as 64-bit two's complement.
 *
 * The hash is taken of the key exactly as given. This is a permanent contract: `CONTRACT.md`.
 *
 * @throws ShardingError `invalid_routing_key` for everything that is not a {@link RoutingKey}
 */
export function slotOf(key: RoutingKey): number {
  switch (typeof key) {
    case 'string':
      return hashOfString(key) & SLOT_MASK;
    case 'number':
      return slotOfNumber(key);
    case 'bigint':
      return slotOfBigint(key);
    default:
      return slotOfBytes(key);
  }
}

/*
 * A bit of the product depends only on bits at or below it, so 32-bit arithmetic gives the low 32 bits of the 64-bit
 * hash exactly. ASCII needs neither an encoder nor an allocation. Four units at a time: a fifth faster on UUIDs.
 */
/**
 * The low 32 bits of a string's hash as a signed number: for tables by key, which then need not hash twice.
 * {@link slotOfHash} takes the slot from it.
 *
 * @throws ShardingError `invalid_routing_key` for a string that is no routing key
 */
export function hashOfString(key: string): number {
  let hash = FNV_BASIS;
  let i = 0;
  for (; i + 3 < key.length; i += 4) {
    const a = key.charCodeAt(i);
    const b = key.charCodeAt(i + 1);
    const c = key.charCodeAt(i + 2);
    const d = key.charCodeAt(i + 3);
    const someNul = ((a - 1) | (b - 1) | (c - 1) | (d - 1)) < 0;
    if (someNul || (a | b | c | d) > 0x7f) break;
    hash = Math.imul(hash ^ a, FNV_PRIME);
    hash = Math.imul(hash ^ b, FNV_PRIME);
    hash = Math.imul(hash ^ c, FNV_PRIME);
    hash = Math.imul(hash ^ d, FNV_PRIME);
  }
  for (; i < key.length; i++) {
    const unit = key.charCodeAt(i);
    if (unit === 0 || unit > 0x7f) return hashOfText(key, i, hash);
    hash = Math.imul(hash ^ unit, FNV_PRIME);
  }
  return hash;
}

/** The slot of a string with that {@link hashOfString}. */
export function slotOfHash(hash: number): number {
  return hash & SLOT_MASK;
}

/** Goes on at the first unit that is not plain ASCII, encoding UTF-8 by hand. */
function hashOfText(key: string, start: number, state: number): number {
  let hash = state;
  for (let i = start; i < key.length; i++) {
    const point = key.codePointAt(i) ?? 0;
    if (point === 0 || (point >= 0xd800 && point <= 0xdfff)) assertRoutingKey(key);
    if (point < 0x80) {
      hash = Math.imul(hash ^ point, FNV_PRIME);
      continue;
    }
    if (point < 0x800) {
      hash = Math.imul(hash ^ (0xc0 | (point >> 6)), FNV_PRIME);
    } else {
      if (point < 0x10000) {
        hash = Math.imul(hash ^ (0xe0 | (point >> 12)), FNV_PRIME);
      } else {
        hash = Math.imul(hash ^ (0xf0 | (point >> 18)), FNV_PRIME);
        hash = Math.imul(hash ^ (0x80 | ((point >> 12) & 0x3f)), FNV_PRIME);
        i++;
      }
      hash = Math.imul(hash ^ (0x80 | ((point >> 6) & 0x3f)), FNV_PRIME);
    }
    hash = Math.imul(hash ^ (0x80 | (point & 0x3f)), FNV_PRIME);
  }
  return hash;
}

function slotOfBytes(key: Uint8Array): number {
  if (!isBytes(key)) assertRoutingKey(key);
  let hash = FNV_BASIS;
  for (const byte of key) hash = Math.imul(hash ^ byte, FNV_PRIME);
  return hash & SLOT_MASK;
}

/** The two halves of a safe integer as 64-bit two's complement, without BigInt. */
function slotOfNumber(key: number): number {
  if (!Number.isSafeInteger(key) || Object.is(key, -0)) assertRoutingKey(key);
  const low = key >>> 0;
  return splitmixSlot((key - low) / 0x1_0000_0000, low);
}

/** A small one is taken apart as a number, which is more than twice as fast. */
function slotOfBigint(key: bigint): number {
  const asNumber = Number(key);
  if (Number.isSafeInteger(asNumber)) return slotOfNumber(asNumber);
  assertRoutingKey(key);
  return splitmixSlot(Number(BigInt.asIntN(32, key >> 32n)), Number(BigInt.asIntN(32, key)));
}

/**
 * splitmix64 (add 0x9e3779b97f4a7c15, then the finaliser: xor-shift 30, multiply, xor-shift 27, multiply, xor-shift 31)
 * on two 32-bit halves; only the bits that reach the low 14 of the result are computed in the last step.
 */
function splitmixSlot(keyHigh: number, keyLow: number): number {
  let low = (keyLow >>> 0) + 0x7f4a7c15;
  let high = (keyHigh + 0x9e3779b9 + (low > 0xffffffff ? 1 : 0)) | 0;
  low |= 0;

  low ^= (low >>> 30) | (high << 2);
  high ^= high >>> 30;
  high = (highOfProduct(low, 0x1ce4e5b9) + Math.imul(low, 0xbf58476d) + Math.imul(high, 0x1ce4e5b9)) | 0;
  low = Math.imul(low, 0x1ce4e5b9);

  low ^= (low >>> 27) | (high << 5);
  high ^= high >>> 27;
  high = (highOfProduct(low, 0x133111eb) + Math.imul(low, 0x94d049bb) + Math.imul(high, 0x133111eb)) | 0;
  low = Math.imul(low, 0x133111eb);

  return (low ^ (low >>> 31) ^ (high << 1)) & SLOT_MASK;
}

/** Bits 32..63 of the product of two unsigned 32-bit integers, by 16-bit limbs. */
function highOfProduct(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const carry = (middle & 0xffff) + aLow * bHigh;
  return aHigh * bHigh + (middle >>> 16) + (carry >>> 16);
}
