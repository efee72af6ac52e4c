import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { SignJWT, exportJWK } from 'jose';
import { resolveOptions } from './config/resolve-options.js';
import { Tenancy } from './request/tenancy.js';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const keys = [
  { ...(await exportJWK(rsa.publicKey)), kid: 'rsa', alg: 'RS256' },
  { ...(await exportJWK(ec.publicKey)), kid: 'ec' },
];

let server: Server;
let url: string;
let fetches: number;
let answer: (response: ServerResponse) => void;

const keySet = (response: ServerResponse) => response.end(JSON.stringify({ keys }));

beforeEach(async () => {
  fetches = 0;
  answer = keySet;
  server = createServer((_request, response) => {
    fetches++;
    answer(response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
});

afterEach(stop);

async function stop(): Promise<void> {
  if (!server.listening) return;
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

const reader = (jwksUrl = url) => {
  const options = { database: { url: 'postgres://c/c' }, tenancy: { source: 'jwt' as const, jwksUrl } };
  const tenancy = new Tenancy(resolveOptions(options).tenancy, []);
  return async (token: string) =>
    tenancy.tenantOf({ headers: {}, rawHeaders: ['authorization', `Bearer ${token}`] });
};
const sign = (alg: string, kid: string, tenant = 'acme') => {
  const key =
    { RS256: rsa.privateKey, ES256: ec.privateKey }[alg] ?? new TextEncoder().encode('x'.repeat(32));
  return new SignJWT({ tenant_id: tenant }).setProtectedHeader({ alg, kid }).sign(key);
};
const refused = (code: string) =>
  expect.objectContaining({
    code: 'invalid_token',
    status: 401,
    message: `the token is not accepted (${code})`,
  });
const UNAVAILABLE = expect.objectContaining({
  code: 'identity_unavailable',
  status: 503,
  retryable: true,
  message: 'the keys that verify tokens cannot be fetched',
});

describe('a key set', () => {
  it('verifies tokens by the key they name', async () => {
    const tenantOf = reader();
    await expect(tenantOf(await sign('RS256', 'rsa'))).resolves.toBe('acme');
    await expect(tenantOf(await sign('ES256', 'ec', 'globex'))).resolves.toBe('globex');
  });

  it('is fetched at the first token, once for all that come meanwhile and after', async () => {
    const tenantOf = reader();
    expect(fetches).toBe(0);
    const token = await sign('RS256', 'rsa');
    await Promise.all(Array.from({ length: 20 }, () => tenantOf(token)));
    await tenantOf(token);
    expect(fetches).toBe(1);
  });

  it.each([
    ['an unknown key', 'RS256', 'other', 'ERR_JWKS_NO_MATCHING_KEY'],
    ['a key of another kind', 'ES256', 'rsa', 'ERR_JWKS_NO_MATCHING_KEY'],
    ['a secret', 'HS256', 'rsa', 'ERR_JOSE_ALG_NOT_ALLOWED'],
  ])('refuses tokens that name %s', async (_what, alg, kid, code) => {
    const token = await sign(alg, kid);
    await expect(reader()(token)).rejects.toThrow(refused(code));
    expect(fetches).toBeLessThanOrEqual(1);
  });

  it('is not fetched again for each unknown key', async () => {
    const tenantOf = reader();
    for (const kid of ['a', 'b', 'c']) {
      await expect(tenantOf(await sign('RS256', kid))).rejects.toThrow(refused('ERR_JWKS_NO_MATCHING_KEY'));
    }
    expect(fetches).toBe(1);
  });
});

describe('a key server', () => {
  it.each<[string, (response: ServerResponse) => void]>([
    ['an error', (response) => response.writeHead(500).end('no')],
    ['not found', (response) => response.writeHead(404).end()],
    ['a redirect', (response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['no JSON', (response) => response.end('<html>')],
    ['no key set', (response) => response.end('{"keys":"none"}')],
    ['a cut connection', (response) => response.destroy()],
  ])(
    'that answers with %s is identity_unavailable, and the next token tries again',
    async (_what, failing) => {
      answer = failing;
      const tenantOf = reader();
      const token = await sign('RS256', 'rsa');
      await expect(tenantOf(token)).rejects.toThrow(UNAVAILABLE);
      answer = keySet;
      await expect(tenantOf(token)).resolves.toBe('acme');
    },
  );

  it('that is down is identity_unavailable, and its address is not told', async () => {
    await stop();
    const token = await sign('RS256', 'rsa');
    await expect(reader()(token)).rejects.toThrow(UNAVAILABLE);
  });

  it('that went down after the keys were fetched is not missed', async () => {
    const tenantOf = reader();
    await tenantOf(await sign('RS256', 'rsa'));
    await stop();
    await expect(tenantOf(await sign('ES256', 'ec'))).resolves.toBe('acme');
  });
});
