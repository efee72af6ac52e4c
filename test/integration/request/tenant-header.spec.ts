import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { bootApp, listen } from '../../support/deployment.js';
import { sendRaw } from './raw-request.js';
import { WhoController } from './tenant-app.js';
import type { INestApplication } from '@nestjs/common';

/** Threat S2: a tenant named twice, by an alias or in a broken way. No database is opened. */
let app: INestApplication;
let url: string;

beforeAll(async () => {
  const database = { primaryUrl: 'postgres://127.0.0.1:1/none' };
  app = await bootApp({ database, tenancy: {}, health: false }, { controllers: [WhoController] });
  url = await listen(app);
});

afterAll(() => app.close());

const ask = (...headers: (string | Buffer)[]) =>
  sendRaw(url, ['GET /who HTTP/1.1', 'Host: localhost', ...headers]);
const refused = (code: string, message: string) => ({
  status: 400,
  body: { statusCode: 400, code, message },
});
const MISSING = refused('no_routing_key', 'the request names no tenant: send the x-tenant-id header');
const invalid = (rule: string) => refused('invalid_tenant', `the tenant of the request ${rule}`);
const TWICE = invalid('must be named once by the x-tenant-id header, not several times');

describe('a request that names its tenant once', () => {
  it.each([
    ['in lower case', 'x-tenant-id: acme', 'acme'],
    ['in upper case', 'X-TENANT-ID: acme', 'acme'],
    ['in mixed case', 'X-Tenant-Id:acme', 'acme'],
    ['with blanks around, which belong to the header', 'x-tenant-id: \t acme  ', 'acme'],
    ['with blanks inside', 'x-tenant-id: acme  corp', 'acme  corp'],
    ['in another case than another tenant', 'x-tenant-id: Acme', 'Acme'],
    ['by a word of JavaScript', 'x-tenant-id: __proto__', '__proto__'],
    ['in UTF-8', 'x-tenant-id: münchen🏢', 'münchen🏢'],
    ['with 255 bytes', `x-tenant-id: ${'ü'.repeat(127)}x`, `${'ü'.repeat(127)}x`],
  ])('is answered: %s', async (_how, header, tenant) => {
    expect(await ask(header)).toEqual({ status: 200, body: { tenant } });
  });

  it('is answered over HTTP/1.0, with and without a host', async () => {
    const lines = ['GET /who HTTP/1.0', 'x-tenant-id: acme'];
    expect(await sendRaw(url, lines)).toEqual({ status: 200, body: { tenant: 'acme' } });
    expect(await sendRaw(url, [...lines, 'Host: localhost'])).toEqual({
      status: 200,
      body: { tenant: 'acme' },
    });
  });

  it('is answered beside headers with odd names', async () => {
    expect(
      await ask('__proto__: globex', 'constructor: globex', 'x-tenant-id: acme', 'X_Tenant_Id: globex'),
    ).toEqual({
      status: 200,
      body: { tenant: 'acme' },
    });
  });
});

describe('a request that names its tenant twice', () => {
  it.each([
    ['two values', ['x-tenant-id: acme', 'x-tenant-id: globex']],
    ['two spellings of the name', ['x-tenant-id: acme', 'X-Tenant-ID: globex']],
    ['the same value twice', ['x-tenant-id: acme', 'x-tenant-id: acme']],
    ['a value and an empty one', ['x-tenant-id: acme', 'x-tenant-id:']],
    ['two values joined by a comma', ['x-tenant-id: acme, globex']],
    ['a value and a comma', ['x-tenant-id: acme,']],
  ])('is refused: %s', async (_how, headers) => {
    expect(await ask(...headers)).toEqual(TWICE);
    expect(await sendRaw(url, ['GET /who HTTP/1.0', ...headers])).toEqual(TWICE);
  });
});

describe('a request that names no tenant', () => {
  it.each([
    ['nothing', []],
    ['an alias with underscores', ['X_Tenant_Id: acme']],
    ['a longer name', ['x-tenant-id-2: acme']],
    ['other headers of the kind', ['x-tenant: acme', 'tenant-id: acme']],
    ['the value in a cookie', ['Cookie: x-tenant-id=acme']],
  ])('is refused: %s', async (_how, headers) => {
    expect(await ask(...headers)).toEqual(MISSING);
  });

  it('is refused when the tenant stands in the query', async () => {
    const line = 'GET /who?x-tenant-id=acme&tenant_id=acme HTTP/1.1';
    expect(await sendRaw(url, [line, 'Host: localhost'])).toEqual(MISSING);
  });
});

describe('a request that names its tenant in a broken way', () => {
  it.each<[string, string | Buffer, string]>([
    ['empty', 'x-tenant-id:', 'must not be blank'],
    ['blank', 'x-tenant-id: \u00a0', 'must not be blank'],
    ['16 kB', `x-tenant-id: ${'a'.repeat(15_800)}`, 'must have at most 255 bytes'],
    ['256 bytes', `x-tenant-id: ${'ü'.repeat(128)}`, 'must have at most 255 bytes'],
    ['a control character', 'x-tenant-id: a\u0085b', 'must not contain control characters'],
    ['Latin-1', Buffer.from('x-tenant-id: münchen', 'latin1'), 'must be UTF-8'],
    [
      'a lone surrogate',
      Buffer.concat([Buffer.from('x-tenant-id: '), Buffer.from([0xed, 0xa0, 0x80])]),
      'must be UTF-8',
    ],
  ])('is refused: %s', async (_how, header, rule) => {
    expect(await ask(header)).toEqual(invalid(rule));
  });

  it.each([
    ['NUL', 'x-tenant-id: a\u0000b'],
    ['a bare line feed', 'x-tenant-id: a\nb'],
  ])('is refused by the HTTP parser: %s', async (_how, header) => {
    expect((await ask(header)).status).toBe(400);
  });
});
