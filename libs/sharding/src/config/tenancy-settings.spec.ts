import { describe, expect, it } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import { configurationError } from './configuration-error.js';
import { resolveOptions } from './resolve-options.js';
import type { TenancySettings } from '../sharding.settings.js';
import type { TenancyOptions } from '../tenancy.options.js';
import type { KeyStyle } from './key-style.js';

const database = { primaryUrl: 'postgres://db/app' };
const settings = (tenancy: TenancyOptions, style: KeyStyle = 'code') =>
  resolveOptions({ database, tenancy }, style).tenancy;
const source = (tenancy: TenancyOptions) => (settings(tenancy) as TenancySettings & { enabled: true }).source;
const problems = (...lines: string[]) => configurationError(lines.map((line) => `tenancy.${line}`));

const jwtSecret = 's'.repeat(32);
const pemOf = (keys: { publicKey: { export(as: object): string | Buffer } }) =>
  keys.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const pem = {
  rsa: pemOf(generateKeyPairSync('rsa', { modulusLength: 2048 })),
  smallRsa: pemOf(generateKeyPairSync('rsa', { modulusLength: 1024 })),
  p256: pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' })),
  p384: pemOf(generateKeyPairSync('ec', { namedCurve: 'P-384' })),
  p521: pemOf(generateKeyPairSync('ec', { namedCurve: 'P-521' })),
  bitcoin: pemOf(generateKeyPairSync('ec', { namedCurve: 'secp256k1' })),
  ed25519: pemOf(generateKeyPairSync('ed25519')),
  x25519: pemOf(generateKeyPairSync('x25519')),
};

describe('tenancy', () => {
  it('is off without its section, and when it says so', () => {
    expect(resolveOptions({ database }).tenancy).toEqual({ enabled: false });
    expect(settings({ enabled: false, source: 'jwt' })).toEqual({ enabled: false });
  });

  it('has every default', () => {
    expect(settings({})).toEqual({
      enabled: true,
      required: 'on_use',
      publicPaths: [],
      maxLength: 255,
      source: { kind: 'header', headerName: 'x-tenant-id' },
    });
  });

  it('has what was set', () => {
    const normalize = (tenant: string) => tenant.toLowerCase();
    const principalTenant = () => null;
    const tenancy: TenancyOptions = {
      enabled: true,
      required: 'always',
      publicPaths: ['/login'],
      maxLength: 2000,
      headerName: 'X-Org',
      normalize,
      principalTenant,
    };
    expect(settings(tenancy)).toEqual({
      enabled: true,
      required: 'always',
      publicPaths: ['/login'],
      maxLength: 2000,
      source: { kind: 'header', headerName: 'x-org' },
      normalize,
      principalTenant,
    });
  });

  it.each([
    ['example.com', 'example.com'],
    ['.Example.COM', 'example.com'],
    ['example.com.', 'example.com'],
    ['localhost', 'localhost'],
  ])('reads the base domain %s as %s', (baseDomain, read) => {
    expect(source({ source: 'subdomain', baseDomain })).toEqual({ kind: 'subdomain', baseDomain: read });
  });

  it('needs no base domain', () => {
    expect(source({ source: 'subdomain' })).toEqual({ kind: 'subdomain' });
  });
});

describe('a custom source', () => {
  it('needs a function, which only code can give', () => {
    expect(() => settings({ source: 'custom' }, 'toml')).toThrow(
      problems('resolve: source "custom" needs a function, in code'),
    );
    const resolve = () => 'acme';
    expect(source({ source: 'custom', resolve })).toEqual({ kind: 'custom', resolve });
  });

  it('has its function used by no other source', () => {
    const resolve = () => 'acme';
    const refused = problems('resolve: goes with source "custom" only');
    expect(() => settings({ resolve })).toThrow(refused);
    expect(() => settings({ source: 'subdomain', resolve })).toThrow(refused);
  });
});

describe('functions', () => {
  it('must be functions', () => {
    const text = 'x' as unknown as () => string;
    expect(() =>
      settings({ source: 'custom', resolve: text, normalize: text, principalTenant: text }),
    ).toThrow(
      problems(
        'resolve: must be a function',
        'normalize: must be a function',
        'principalTenant: must be a function',
      ),
    );
    expect(() => settings({ principalTenant: null as unknown as () => null })).toThrow(
      problems('principalTenant: must not be null; leave it out', 'principalTenant: must be a function'),
    );
  });
});

describe('a source that is not set', () => {
  it('is not taken for the header when keys of another one are', () => {
    expect(() => settings({ baseDomain: 'example.com' })).toThrow(
      problems('baseDomain: goes with source "subdomain", and no source is set'),
    );
    expect(() => settings({ jwtSecret, jwtIssuer: 'me' }, 'toml')).toThrow(
      problems('jwt_secret: goes with source "jwt", and no source is set'),
    );
    expect(source({ source: 'header', jwtSecret, baseDomain: 'example.com' })).toEqual({
      kind: 'header',
      headerName: 'x-tenant-id',
    });
  });
});

describe('tokens', () => {
  it.each<[string, TenancyOptions]>([
    ['no key', {}],
    ['two keys', { jwtSecret, jwksUrl: 'https://id/keys' }],
    ['three keys', { jwtSecret, jwksUrl: 'https://id/keys', jwtPublicKey: pem.rsa }],
  ])('need exactly one key: %s', (_what, keys) => {
    expect(() => settings({ source: 'jwt', ...keys })).toThrow(
      problems('source: "jwt" needs exactly one of jwtSecret, jwtPublicKey and jwksUrl'),
    );
    expect(() => settings({ source: 'jwt', ...keys }, 'toml')).toThrow(
      problems('source: "jwt" needs exactly one of jwt_secret, jwt_public_key and jwks_url'),
    );
  });

  it('need a secret of 32 characters', () => {
    expect(() => settings({ source: 'jwt', jwtSecret: 's'.repeat(31) }, 'toml')).toThrow(
      problems('jwt_secret: must have at least 32 characters'),
    );
    expect(source({ source: 'jwt', jwtSecret })).toMatchObject({
      key: { algorithms: ['HS256', 'HS384', 'HS512'] },
      claim: 'tenant_id',
    });
  });

  const rsa = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
  it.each([
    ['rsa', rsa],
    ['p256', ['ES256']],
    ['p384', ['ES384']],
    ['p521', ['ES512']],
    ['ed25519', ['EdDSA', 'Ed25519']],
  ] as const)('are verified with a public key of kind %s by its algorithms only', (kind, algorithms) => {
    expect(source({ source: 'jwt', jwtPublicKey: pem[kind] })).toMatchObject({ key: { algorithms } });
  });

  it('are verified with a key set by no HMAC', () => {
    expect(source({ source: 'jwt', jwksUrl: 'http://localhost:8080/keys' })).toMatchObject({
      key: { algorithms: [...rsa, 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] },
    });
  });

  it.each(['smallRsa', 'bitcoin', 'x25519'] as const)('are not verified with a key of kind %s', (kind) => {
    expect(() => settings({ source: 'jwt', jwtPublicKey: pem[kind] })).toThrow(
      problems(
        'jwtPublicKey: is no key that signs tokens: RSA of at least 2048 bits, EC (P-256, P-384, P-521) and Ed25519 do',
      ),
    );
  });

  it.each(['', 'ssh-rsa AAAA', pem.rsa.slice(0, -60), pem.rsa.replaceAll('\n', '')])(
    'need a public key that can be read (%#)',
    (jwtPublicKey) => {
      expect(() => settings({ source: 'jwt', jwtPublicKey })).toThrow(
        problems('jwtPublicKey: cannot be read as a PEM public key'),
      );
    },
  );

  it.each(['ftp://id/keys', 'id/keys', 'https://user:hunter2@id/keys', ''])(
    'need a key set at an http(s) URL: %s',
    (jwksUrl) => {
      expect(() => settings({ source: 'jwt', jwksUrl })).toThrow(
        problems('jwksUrl: must be an http(s) URL without a user or a password'),
      );
    },
  );

  it('have issuer, audience and claim as set, none of them empty', () => {
    const tenancy = {
      source: 'jwt' as const,
      jwtSecret,
      jwtIssuer: 'me',
      jwtAudience: 'you',
      jwtClaim: 'org',
    };
    expect(source(tenancy)).toMatchObject({ issuer: 'me', audience: 'you', claim: 'org' });
    expect(() => settings({ ...tenancy, jwtIssuer: '', jwtAudience: '', jwtClaim: '' })).toThrow(
      problems(
        'jwtIssuer: should not be empty',
        'jwtAudience: should not be empty',
        'jwtClaim: should not be empty',
      ),
    );
  });
});
