import { describe, expect, it } from '@jest/globals';
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { SignJWT, UnsecuredJWT } from 'jose';
import { resolveOptions } from './config/resolve-options.js';
import { Tenancy } from './request/tenancy.js';
import type { KeyObject } from 'node:crypto';
import type { TenancyOptions } from './tenancy.options.js';

const secret = 'correct horse battery staple 0123456789';
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const otherRsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const ed = generateKeyPairSync('ed25519');
const pem = ({ publicKey }: { publicKey: KeyObject }) =>
  publicKey.export({ type: 'spki', format: 'pem' }).toString();

type SigningKey = KeyObject | string;

const sign = (alg: string, key: SigningKey, claims: object = { tenant_id: 'acme' }) =>
  new SignJWT({ ...claims })
    .setProtectedHeader({ alg })
    .sign(typeof key === 'string' ? new TextEncoder().encode(key) : key);

const tenancy = (options: TenancyOptions) =>
  new Tenancy(
    resolveOptions({ database: { url: 'postgres://c/c' }, tenancy: { source: 'jwt', ...options } }).tenancy,
    [],
  );
const request = (...authorizations: string[]) => ({
  headers: {},
  rawHeaders: authorizations.flatMap((value) => ['Authorization', value]),
});
const tenantOf = async (options: TenancyOptions, token: string | Promise<string>) =>
  tenancy(options).tenantOf(request(`Bearer ${await token}`));

const failure = (code: string, message: string) => expect.objectContaining({ code, message });
const refused = (code: string) => failure('invalid_token', `the token is not accepted (${code})`);
const BEARER = failure('invalid_token', 'send one "Authorization: Bearer <token>" header');
const now = () => Math.floor(Date.now() / 1000);

describe('a token', () => {
  it.each<[string, TenancyOptions, SigningKey]>([
    ['HS256', { jwtSecret: secret }, secret],
    ['HS512', { jwtSecret: secret }, secret],
    ['RS256', { jwtPublicKey: pem(rsa) }, rsa.privateKey],
    ['PS512', { jwtPublicKey: pem(rsa) }, rsa.privateKey],
    ['ES256', { jwtPublicKey: pem(ec) }, ec.privateKey],
    ['ES384', { jwtPublicKey: pem(p384) }, p384.privateKey],
    ['EdDSA', { jwtPublicKey: pem(ed) }, ed.privateKey],
  ])('names the tenant when it is signed by %s', async (alg, options, key) => {
    await expect(tenantOf(options, sign(alg, key))).resolves.toBe('acme');
  });

  it('names any tenant, and reads the configured claim only', async () => {
    const claims = { org: ' München🏢 ', tenant_id: 'acme' };
    await expect(
      tenantOf({ jwtSecret: secret, jwtClaim: 'org' }, sign('HS256', secret, claims)),
    ).resolves.toBe(' München🏢 ');
  });

  it.each<[string, TenancyOptions, string, SigningKey]>([
    ['HS256 with another secret', { jwtSecret: secret }, 'HS256', `${secret}!`],
    ['RS256 with another key', { jwtPublicKey: pem(rsa) }, 'RS256', otherRsa.privateKey],
  ])('is refused when it is signed by %s', async (_what, options, alg, key) => {
    await expect(tenantOf(options, sign(alg, key))).rejects.toThrow(
      refused('ERR_JWS_SIGNATURE_VERIFICATION_FAILED'),
    );
  });

  it.each<[string, TenancyOptions, string, SigningKey]>([
    ['ES256 where the key is RSA', { jwtPublicKey: pem(rsa) }, 'ES256', ec.privateKey],
    ['RS256 where the key is EC', { jwtPublicKey: pem(ec) }, 'RS256', rsa.privateKey],
    ['ES384 where the key is P-256', { jwtPublicKey: pem(ec) }, 'ES384', p384.privateKey],
    ['RS256 where there is a secret', { jwtSecret: secret }, 'RS256', rsa.privateKey],
  ])('is refused when it is signed by %s', async (_what, options, alg, key) => {
    await expect(tenantOf(options, sign(alg, key))).rejects.toThrow(refused('ERR_JOSE_ALG_NOT_ALLOWED'));
  });

  it.each([pem(rsa), pem(rsa).trim(), pem(ec)])(
    'is refused when the public key served as HMAC secret (%#)',
    async (publicKey) => {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const signed = `${part({ alg: 'HS256' })}.${part({ tenant_id: 'acme' })}`;
      const forged = `${signed}.${createHmac('sha256', publicKey).update(signed).digest('base64url')}`;
      await expect(tenantOf({ jwtPublicKey: publicKey }, forged)).rejects.toThrow(
        refused('ERR_JOSE_ALG_NOT_ALLOWED'),
      );
    },
  );

  it('is refused without a signature, also with alg none', async () => {
    const unsecured = new UnsecuredJWT({ tenant_id: 'acme' }).encode();
    await expect(tenantOf({ jwtSecret: secret }, unsecured)).rejects.toThrow(BEARER);
    await expect(tenantOf({ jwtSecret: secret }, `${unsecured}AAAA`)).rejects.toThrow(
      refused('ERR_JOSE_ALG_NOT_ALLOWED'),
    );
    const [header, payload] = (await sign('HS256', secret)).split('.');
    await expect(tenantOf({ jwtSecret: secret }, `${header}.${payload}.`)).rejects.toThrow(BEARER);
  });

  it('is refused when its claims were changed', async () => {
    const [header, , signature] = (await sign('HS256', secret)).split('.');
    const payload = Buffer.from('{"tenant_id":"globex"}').toString('base64url');
    await expect(tenantOf({ jwtSecret: secret }, `${header}.${payload}.${signature}`)).rejects.toThrow(
      refused('ERR_JWS_SIGNATURE_VERIFICATION_FAILED'),
    );
  });

  it.each<[string, object, string]>([
    ['expired', { exp: now() - 1 }, 'ERR_JWT_EXPIRED'],
    ['not yet valid', { nbf: now() + 3600 }, 'ERR_JWT_CLAIM_VALIDATION_FAILED'],
    ['of another issuer', { iss: 'you' }, 'ERR_JWT_CLAIM_VALIDATION_FAILED'],
    ['of no issuer', { iss: undefined }, 'ERR_JWT_CLAIM_VALIDATION_FAILED'],
    ['for another audience', { aud: ['x', 'y'] }, 'ERR_JWT_CLAIM_VALIDATION_FAILED'],
    ['for no audience', { aud: undefined }, 'ERR_JWT_CLAIM_VALIDATION_FAILED'],
  ])('is refused when it is %s', async (_what, claims, code) => {
    const options = { jwtSecret: secret, jwtIssuer: 'me', jwtAudience: 'app' };
    const good = { tenant_id: 'acme', iss: 'me', aud: ['app', 'other'], exp: now() + 3600 };
    await expect(tenantOf(options, sign('HS256', secret, good))).resolves.toBe('acme');
    await expect(tenantOf(options, sign('HS256', secret, { ...good, ...claims }))).rejects.toThrow(
      refused(code),
    );
  });

  it.each([undefined, null, '', ' ', 7, true, ['acme'], { id: 'acme' }])(
    'must name the tenant by a text: %j',
    async (claim) => {
      await expect(
        tenantOf({ jwtSecret: secret }, sign('HS256', secret, { tenant_id: claim })),
      ).rejects.toThrow(failure('invalid_token', 'the token has no claim "tenant_id" that names a tenant'));
    },
  );

  it('has no claim that is a word of JavaScript', async () => {
    const options = { jwtSecret: secret, jwtClaim: 'constructor' };
    await expect(tenantOf(options, sign('HS256', secret))).rejects.toThrow(
      failure('invalid_token', 'the token has no claim "constructor" that names a tenant'),
    );
  });

  it('names a tenant that obeys the rules for tenants', async () => {
    await expect(
      tenantOf({ jwtSecret: secret }, sign('HS256', secret, { tenant_id: 'a\u0000b' })),
    ).rejects.toThrow(
      failure('invalid_tenant', 'the tenant of the request must not contain control characters'),
    );
  });
});

describe('the Authorization header', () => {
  it.each(['bearer', 'BEARER', 'Bearer', 'Bearer  '])('may spell its scheme %s', async (scheme) => {
    const token = await sign('HS256', secret);
    await expect(tenancy({ jwtSecret: secret }).tenantOf(request(`${scheme} ${token}`))).resolves.toBe(
      'acme',
    );
  });

  it('must be there once, with one token', async () => {
    const token = await sign('HS256', secret);
    const bearer = `Bearer ${token}`;
    const headers = [
      [],
      [bearer, bearer],
      [bearer, ''],
      [`${bearer}, ${bearer}`],
      [`Basic ${token}`],
      [token],
      ['Bearer'],
      [`Bearer ${token} x`],
      ['Bearer a.b'],
    ];
    for (const values of headers) {
      await expect(tenancy({ jwtSecret: secret }).tenantOf(request(...values))).rejects.toThrow(BEARER);
    }
  });
});
