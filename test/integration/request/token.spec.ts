import { afterEach, describe, expect, it } from '@jest/globals';
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { SignJWT } from 'jose';
import { bootApp, listen } from '../../support/deployment.js';
import { sendRaw } from './raw-request.js';
import { WhoController } from './tenant-app.js';
import type { INestApplication } from '@nestjs/common';
import type { TenancyOptions } from '@app/sharding';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
const token = await new SignJWT({ tenant_id: 'münchen' })
  .setProtectedHeader({ alg: 'RS256' })
  .sign(privateKey);

let app: INestApplication;
let url: string;

afterEach(() => app.close());

async function boot(keys: TenancyOptions): Promise<void> {
  const database = { url: 'postgres://127.0.0.1:1/none' };
  const tenancy = { source: 'jwt' as const, ...keys };
  app = await bootApp({ database, tenancy, health: false }, { controllers: [WhoController] });
  url = await listen(app);
}

const ask = (...headers: string[]) => sendRaw(url, ['GET /who HTTP/1.1', 'Host: localhost', ...headers]);
const refused = (statusCode: number, code: string, message: string) => ({
  status: statusCode,
  body: { statusCode, code, message },
});
const BEARER = refused(401, 'invalid_token', 'send one "Authorization: Bearer <token>" header');

describe('a token over HTTP', () => {
  it('names the tenant, and no header does', async () => {
    await boot({ jwtPublicKey: pem });
    expect(await ask(`Authorization: Bearer ${token}`, 'x-tenant-id: globex')).toEqual({
      status: 200,
      body: { tenant: 'münchen' },
    });
    expect(await ask('x-tenant-id: globex')).toEqual(BEARER);
  });

  it('must come in one Authorization header', async () => {
    await boot({ jwtPublicKey: pem });
    const header = `Authorization: Bearer ${token}`;
    expect(await ask(header, header)).toEqual(BEARER);
    expect(await ask(header, 'AUTHORIZATION: Bearer x.y.z')).toEqual(BEARER);
    expect(await ask(`Proxy-${header}`)).toEqual(BEARER);
  });

  it('is refused with 401 when it was signed with the public key as a secret', async () => {
    await boot({ jwtPublicKey: pem });
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ tenant_id: 'acme' })}`;
    const forged = `${signed}.${createHmac('sha256', pem).update(signed).digest('base64url')}`;
    expect(await ask(`Authorization: Bearer ${forged}`)).toEqual(
      refused(401, 'invalid_token', 'the token is not accepted (ERR_JOSE_ALG_NOT_ALLOWED)'),
    );
  });

  it('cannot be verified without the key server: 503', async () => {
    await boot({ jwksUrl: 'http://127.0.0.1:1/keys' });
    expect(await ask(`Authorization: Bearer ${token}`)).toEqual(
      refused(503, 'identity_unavailable', 'the keys that verify tokens cannot be fetched'),
    );
  });
});
