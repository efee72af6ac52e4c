import { describe, expect, it } from '@jest/globals';
import { headerValues, pathOf, rawRequest } from './http-request.js';

describe('the values of a header', () => {
  const request = {
    rawHeaders: ['X-Tenant-Id', 'acme', 'Host', 'h', 'x-tenant-id', 'globex', 'x_tenant_id', 'alias'],
  };

  it('are all that were sent, in order, whatever the case of the name', () => {
    expect(headerValues(request, 'x-tenant-id')).toEqual(['acme', 'globex']);
  });

  it('are found by name, never by value', () => {
    expect(headerValues({ rawHeaders: ['a', 'x-tenant-id', 'b', 'c'] }, 'x-tenant-id')).toEqual([]);
  });

  it.each(['__proto__', 'constructor', 'tostring'])('are none for %s when it was not sent', (name) => {
    expect(headerValues({ ...request, headers: {} }, name)).toEqual([]);
    expect(headerValues({ rawHeaders: [name, 'x'] }, name)).toEqual(['x']);
  });

  it('are read below the request of Fastify', () => {
    expect(headerValues({ raw: { headers: {}, ...request }, rawHeaders: [] }, 'host')).toEqual(['h']);
  });

  it('are none where there are no headers', () => {
    expect(headerValues({}, 'host')).toEqual([]);
  });
});

describe('the request of Node', () => {
  it('is the request of Express, and lies below that of Fastify', () => {
    const node = { headers: {} };
    expect(rawRequest(node)).toBe(node);
    expect(rawRequest({ raw: node })).toBe(node);
  });

  it.each(['text', Buffer.from('bytes'), null, 7])('is not what an application keeps as raw: %p', (raw) => {
    const request = { headers: {}, raw };
    expect(rawRequest(request)).toBe(request);
  });
});

describe('the path of a request', () => {
  it.each([
    [{ url: '/a/b?x=/y#z' }, '/a/b'],
    [{ url: '/a#b?c' }, '/a'],
    [{ url: '/', originalUrl: '/api/x?y' }, '/api/x'],
    [{ url: '?x' }, ''],
    [{}, '/'],
  ])('%j -> %s', (request, path) => expect(pathOf(request)).toBe(path));
});
