import { hashOfString } from '@app/routing';

/** Neither the slot of a key nor its neighbours decide whether it is in the sample (Knuth's multiplier, then the high bits). */
export function isSampled(key: string, percent: number): boolean {
  if (percent >= 100) return true;
  const mixed = Math.imul(hashOfString(key) ^ (hashOfString(key) >>> 15), 0x9e3779b1) >>> 0;
  return mixed < (percent / 100) * 2 ** 32;
}
