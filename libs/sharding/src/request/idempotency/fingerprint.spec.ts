import { describe, expect, it } from '@jest/globals';
import { fingerprintOf, scopeOf, tenantText } from './fingerprint.js';

describe('the fingerprint of a request', () => {
  it('does not depend on the order of names', () => {
    expect(fingerprintOf({ a: '1', b: '2' }, { x: { y: 1, z: [1, 2] } })).toBe(
      fingerprintOf({ b: '2', a: '1' }, { x: { z: [1, 2], y: 1 } }),
    );
  });

  it.each<[unknown, unknown]>([
    [{ a: 1 }, { a: '1' }],
    [
      [1, 2],
      [2, 1],
    ],
    [{ a: 1 }, [['a', 1]]],
    [Buffer.from('a'), Buffer.from('b')],
    [{ a: { b: 1 } }, { a: { b: 2 } }],
  ])('tells %j from %j', (one, other) => {
    expect(fingerprintOf({}, one)).not.toBe(fingerprintOf({}, other));
  });
});

describe('the scope of a key', () => {
  const scope = { tenant: 'acme', owner: '', method: 'POST', path: '/a' };

  it('is of the tenant, the owner, the method and the path', () => {
    const others = [
      { ...scope, tenant: 'globex' },
      { ...scope, tenant: undefined },
      { ...scope, owner: 'ann' },
      { ...scope, method: 'PUT' },
      { ...scope, path: '/b' },
    ];
    expect(new Set([scope, ...others].map(scopeOf)).size).toBe(6);
  });

  it('tells the kinds of routing keys apart, and takes both kinds of an integer for one', () => {
    const of = (tenant: string | number | bigint) => scopeOf({ ...scope, tenant });
    expect(of(1)).not.toBe(of('1'));
    expect(of(1)).toBe(of(1n));
  });

  it('keeps the routing key as text', () => {
    expect([undefined, 'acme', 42, 42n, Buffer.from([1, 255])].map(tenantText)).toEqual([
      null,
      'acme',
      '42',
      '42',
      '01ff',
    ]);
  });
});
