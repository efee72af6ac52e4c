import { describe, expect, it } from '@jest/globals';
import { tenantFromSubdomain } from './subdomain-source.js';

const request = (...hosts: string[]) => ({
  headers: {},
  rawHeaders: hosts.flatMap((host) => ['Host', host]),
});
const missing = expect.objectContaining({
  code: 'no_routing_key',
  message: 'the host of the request names no tenant: call <tenant>.<domain>',
});
const invalid = (rule: string) =>
  expect.objectContaining({ code: 'invalid_tenant', message: `the tenant of the request ${rule}` });

describe('the tenant in a host name', () => {
  it.each([
    ['acme.example.com', 'example.com', 'acme'],
    ['ACME.Example.COM:8080', 'example.com', 'acme'],
    ['acme.example.com.', 'example.com', 'acme'],
    ['x.acme.example.com', 'example.com', 'x'],
    ['acme.localhost:3000', 'localhost', 'acme'],
    ['xn--mnchen-3ya.example.com', 'example.com', 'xn--mnchen-3ya'],
    ['acme.example.com', undefined, 'acme'],
    ['acme.example.co.uk', undefined, 'acme'],
    ['acme.localhost:3000', undefined, 'acme'],
    ['a_b-1.example.com', undefined, 'a_b-1'],
    ['constructor.example.com', undefined, 'constructor'],
  ])('%s below %s is %s', (host, baseDomain, tenant) =>
    expect(tenantFromSubdomain(request(host), baseDomain)).toBe(tenant),
  );

  it.each([
    ['example.com', 'example.com'],
    ['badexample.com', 'example.com'],
    ['acme.example.org', 'example.com'],
    ['acme.example.com.evil.org', 'example.com'],
    ['example.com', undefined],
    ['localhost:3000', undefined],
    ['acme', undefined],
    ['', undefined],
  ])('is missing in %s below %s', (host, baseDomain) =>
    expect(() => tenantFromSubdomain(request(host), baseDomain)).toThrow(missing),
  );

  it('is missing without a Host header', () => {
    expect(() => tenantFromSubdomain(request(), undefined)).toThrow(missing);
  });

  it.each(['127.0.0.1', '10.0.0.1:3000', '[::1]:3000', '[2001:db8::1]', '1.2.3', '127.1', 'acme.example.7'])(
    'is not read from an address: %s',
    (host) => {
      for (const baseDomain of [undefined, 'example.com']) {
        expect(() => tenantFromSubdomain(request(host), baseDomain)).toThrow(
          invalid('cannot be read from an IP address as host'),
        );
      }
    },
  );

  it.each([
    '.example.com',
    'a..example.com',
    'ac me.example.com',
    'a@b.example.com',
    'mÃ¼nchen.example.com',
    'a/b.example.com',
  ])('is not read from a malformed host: %s', (host) => {
    for (const baseDomain of [undefined, 'example.com']) {
      expect(() => tenantFromSubdomain(request(host), baseDomain)).toThrow(
        invalid('cannot be read from a malformed host'),
      );
    }
  });

  it('must be named by one Host header', () => {
    expect(() => tenantFromSubdomain(request('a.example.com', 'b.example.com'), undefined)).toThrow(
      invalid('must be named by one Host header'),
    );
  });

  it('follows the host that the framework found behind its proxies', () => {
    const proxied = { ...request('internal.example.com'), hostname: 'acme.example.com' };
    expect(tenantFromSubdomain(proxied, 'example.com')).toBe('acme');
  });
});
