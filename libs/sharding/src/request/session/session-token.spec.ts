import { describe, expect, it, test } from '@jest/globals';
import fc from 'fast-check';
import { Secret } from '../../secret.js';
import { MAX_TOKEN_BYTES, SessionTokens } from './session-token.js';
import type { SessionEntry } from './session-token.js';

const tokens = new SessionTokens(new Secret('a secret of thirty-two bytes ...'));
const others = new SessionTokens(new Secret('another secret of thirty-two ...'));
const written = (...entries: SessionEntry[]) => tokens.write(entries) ?? '';
const shards = (count: number, part: Partial<SessionEntry> = {}) =>
  Array.from({ length: count }, (_none, index) => ({
    name: `shard${index}`,
    position: 0x16b374d848n,
    ...part,
  }));

describe('a token', () => {
  it('gives back what was written', () => {
    const entries: SessionEntry[] = [
      { name: 'shard0', position: 0n },
      { name: 'eu-west_1', position: 0xffff_ffff_ffff_ffffn },
      { name: '@control', position: 'unknown' },
    ];
    expect(tokens.read(written(...entries))).toEqual(entries);
  });

  it('is readable, stands in headers and cookies as it is, and is the same for the same content', () => {
    const token = written({ name: 'shard0', position: 255n }, { name: 'shard1', position: 'unknown' });
    expect(token).toMatch(/^v1\.[\w-]{43}\.shard0:ff\.shard1:\*$/);
    expect(written({ name: 'shard0', position: 255n }, { name: 'shard1', position: 'unknown' })).toBe(token);
  });

  it('does not exist for nothing', () => expect(tokens.write([])).toBeUndefined());
});

describe('a token that is too long', () => {
  it('leaves out what the replicas show already', () => {
    const needed = { name: 'needed', position: 1n };
    const token = written(...shards(200, { replayed: true }), needed);
    expect(tokens.read(token)).toEqual([needed]);
    expect(tokens.write(shards(200, { replayed: true }))).toBeUndefined();
  });

  it('leaves out nothing while it fits', () => {
    expect(tokens.read(written(...shards(50, { replayed: true })))).toHaveLength(50);
  });

  it('says that every primary has to be asked, rather than leaving out what is needed', () => {
    const token = written(...shards(200), ...shards(3, { replayed: true }));
    expect(tokens.read(token)).toBe('all');
  });

  it('never exceeds the limit, and loses nothing that is needed', () => {
    const entry = fc.record({
      name: fc.stringMatching(/^[a-z0-9_-]{1,40}$/),
      position: fc.oneof(fc.constant('unknown' as const), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })),
      replayed: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 200 }), (entries) => {
        const token = tokens.write(entries);
        expect(Buffer.byteLength(token ?? '')).toBeLessThanOrEqual(MAX_TOKEN_BYTES);
        const claim = token === undefined ? [] : tokens.read(token);
        if (claim === 'all') return;
        const needed = entries.filter(({ replayed }) => !replayed);
        const expected = needed.map(({ name, position }) => ({ name, position }));
        expect(claim).toEqual(expect.arrayContaining(expected));
      }),
    );
  });
});

describe('what this key has not signed is ignored', () => {
  const good = written({ name: 'shard0', position: 0x1234n });
  const mac = good.slice(3, 46);

  test.each([
    ['nothing', ''],
    ['the version alone', 'v1.'],
    ['no content', `v1.${mac}.`],
    ['no signature', 'v1..shard0:1234'],
    ['another content', `v1.${mac}.shard0:1235`],
    ['no dot before the content', `v1.${mac}xshard0:1234`],
    ['a longer content', `${good}0`],
    ['a shorter content', good.slice(0, -1)],
    ['another version', good.replace('v1', 'v2')],
    ['a space before', ` ${good}`],
    ['another case of the signature', good.replace(mac, mac.toLowerCase())],
    ['other characters in the signature', good.replace(mac, 'ü'.repeat(43))],
    ['a signature of another length', good.replace(mac, mac.slice(1))],
    ['two tokens', `${good}, ${good}`],
    ['the token of another key', others.write([{ name: 'shard0', position: 0x1234n }]) ?? ''],
    ['the marker of another key', others.write(shards(300)) ?? ''],
  ])('%s', (_what, token) => expect(tokens.read(token)).toBeUndefined());

  it('also a signed one that is too long', () => {
    expect(tokens.read(good + 'x'.repeat(MAX_TOKEN_BYTES))).toBeUndefined();
  });

  it('and any other text, also one that looks like a token', () => {
    const like = fc
      .tuple(fc.stringMatching(/^[\w-]{43}$/), fc.string())
      .map((parts) => `v1.${parts.join('.')}`);
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), like), (text) => tokens.read(text) === undefined),
    );
  });

  it('and every change of one character', () => {
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, character) => {
        fc.pre(good[at] !== character);
        return tokens.read(good.slice(0, at) + character + good.slice(at + 1)) === undefined;
      }),
    );
  });
});

it('the secret is not printed with its owner', async () => {
  const { inspect } = await import('node:util');
  expect(inspect(tokens, { depth: 9, showHidden: true })).not.toContain('thirty-two');
});
