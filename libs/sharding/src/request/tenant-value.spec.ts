import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ShardingError } from '@app/routing';
import { checkedTenant } from './tenant-value.js';

const refused = (rule: string) =>
  expect.objectContaining({
    code: 'invalid_tenant',
    status: 400,
    message: `the tenant of the request ${rule}`,
  });

describe('a tenant', () => {
  it.each([
    'acme',
    'Acme',
    ' acme',
    'acme ',
    'a,b',
    "o'brien; drop table x",
    'münchen🏢',
    'mu\u0308nchen',
    '\ufeffacme',
    'a\u00a0b',
    '0',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '../etc',
  ])('is taken as it is: %j', (tenant) => expect(checkedTenant(tenant, 255)).toBe(tenant));

  it.each(['', ' ', '\t', ' \n ', '\u00a0', '\u2003', '\ufeff'])('must not be blank: %j', (tenant) => {
    expect(() => checkedTenant(tenant, 255)).toThrow(refused('must not be blank'));
  });

  it.each(['\ud800', '\udfff', 'a\ud800', '\udc00b', '\udc00\ud800', 'x\ud83d y'])(
    'must be well-formed: %j',
    (tenant) => {
      expect(() => checkedTenant(tenant, 255)).toThrow(refused('must be well-formed Unicode'));
    },
  );

  it.each(['a\u0000b', '\u0000', 'a\nb', 'a\r\nb', 'acme\t', 'a\u001fb', 'a\u007f', 'a\u0085b', 'a\u009f'])(
    'must not contain control characters: %j',
    (tenant) =>
      expect(() => checkedTenant(tenant, 255)).toThrow(refused('must not contain control characters')),
  );

  it.each([
    ['a', 255],
    ['ü', 127],
    ['€', 85],
    ['🏢', 63],
  ])('must fit its limit in bytes, not characters: %s', (character, most) => {
    expect(checkedTenant(character.repeat(most), 255)).toHaveLength(character.length * most);
    expect(() => checkedTenant(character.repeat(most + 1), 255)).toThrow(
      refused('must have at most 255 bytes'),
    );
  });

  it('is refused when it is huge', () => {
    expect(() => checkedTenant('x'.repeat(16 * 1024), 255)).toThrow(refused('must have at most 255 bytes'));
  });

  it.each([undefined, null, 7, 7n, true, {}, ['acme'], new String('acme'), Buffer.from('acme')])(
    'must be a string: %p',
    (tenant) => expect(() => checkedTenant(tenant, 255)).toThrow(refused('must be a string')),
  );

  it('is itself or refused, and the refusal never shows it (any string)', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 9 }), (tenant) => {
        try {
          expect(checkedTenant(tenant, 20)).toBe(tenant);
          expect(tenant).not.toMatch(/\p{Surrogate}/u);
          expect(Buffer.byteLength(tenant)).toBeLessThanOrEqual(20);
        } catch (error) {
          if (!(error instanceof ShardingError)) throw error;
          expect(error.message).not.toContain(tenant);
        }
      }),
    );
  });
});
