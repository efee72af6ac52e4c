import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { tenantFromHeader } from './header-source.js';

/** A request with these bytes as the value, in Latin-1 as Node gives them. */
const request = (...values: (string | Buffer)[]) => ({
  headers: {},
  rawHeaders: values.flatMap((value) => ['X-Tenant-Id', Buffer.from(value as string).toString('latin1')]),
});
const tenant = (...values: (string | Buffer)[]) => tenantFromHeader(request(...values), 'x-tenant-id');
const invalid = (rule: string) =>
  expect.objectContaining({ code: 'invalid_tenant', message: `the tenant of the request ${rule}` });

describe('the tenant in a header', () => {
  it.each(['acme', 'Acme', '__proto__', 'münchen🏢', 'mu\u0308nchen', '\ufeffacme', 'ÿ'])(
    'is the UTF-8 text of its bytes: %j',
    (text) => expect(tenant(text)).toBe(text),
  );

  it('is the text that was sent (any text without a comma)', () => {
    const text = fc.string({ unit: 'grapheme' }).filter((value) => !value.includes(','));
    fc.assert(fc.property(text, (value) => expect(tenant(value)).toBe(value)));
  });

  it.each([
    ['Latin-1', Buffer.from('münchen', 'latin1')],
    ['a lone surrogate', Buffer.from([0xed, 0xa0, 0x80])],
    ['an overlong form', Buffer.from([0xc0, 0xaf])],
    ['a cut sequence', Buffer.from([0x61, 0xf0, 0x9f, 0x8f])],
    ['a stray byte', Buffer.from([0x61, 0xff])],
  ])('must be UTF-8, not %s', (_what, bytes) =>
    expect(() => tenant(bytes)).toThrow(invalid('must be UTF-8')),
  );

  it('is missing without the header, or with an alias of it', () => {
    const missing = expect.objectContaining({
      code: 'no_routing_key',
      message: 'the request names no tenant: send the x-tenant-id header',
    });
    expect(() => tenant()).toThrow(missing);
    const alias = { headers: {}, rawHeaders: ['X_Tenant_Id', 'acme', 'x-tenant-id2', 'acme'] };
    expect(() => tenantFromHeader(alias, 'x-tenant-id')).toThrow(missing);
  });

  it.each([
    [['acme', 'globex']],
    [['acme', 'acme']],
    [['acme', '']],
    [['acme, globex']],
    [['acme,']],
    [[',']],
  ])('must be named once: %j', (values) =>
    expect(() => tenant(...values)).toThrow(
      invalid('must be named once by the x-tenant-id header, not several times'),
    ),
  );
});
