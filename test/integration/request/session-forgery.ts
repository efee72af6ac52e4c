import { createHmac } from 'node:crypto';

export const SECRET = 'a secret of thirty-two bytes ...';
/** A token as the library documents it. */
export const signed = (body: string, secret = SECRET, version = 'v1') => {
  const mac = createHmac('sha256', secret).update(`nestjs-sharding session ${version}.${body}`);
  return `${version}.${mac.digest('base64url')}.${body}`;
};
/** A position far beyond those of the test's servers. */
export const FAR = 'ffffffff00000000';

/** Tokens that must not be believed, made from one that may. */
export function foreign(good: string): Record<string, string> {
  const body = good.slice(47);
  return {
    nothing: '',
    garbage: '%%%',
    'another body': `${good}0`,
    'another signature': good.replace(/^v1\.../, 'v1.__'),
    'another secret': signed(body, 'another secret of thirty-two ...'),
    'another version': signed(body, SECRET, 'v2'),
    'unknown shards': signed('shard7:1.nowhere:*'),
    'no entries at all': signed('::::.shard0:zz.shard0:'),
    'a shard without a replica': signed(`shard1:${FAR}`),
    'too long': signed(`${body}.${'x:1.'.repeat(600)}y:1`),
    twice: `${good}.${good}`,
  };
}
