import { createRemoteJWKSet, errors, jwtVerify } from 'jose';
import { ShardingError } from '@app/routing';
import { headerValues } from '../http-request.js';
import type { JWTPayload, JWTVerifyOptions } from 'jose';
import type { TenantSourceSettings } from '../../sharding.settings.js';

type JwtSettings = Extract<TenantSourceSettings, { kind: 'jwt' }>;

/** Pinned by the kind of key: a public key must never be used as an HMAC secret, and `none` is never accepted. */
const HMAC = ['HS256', 'HS384', 'HS512'];
const ASYMMETRIC = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

const JWKS_TIMEOUT_MS = 3000;

/** A reader of the tenant claim of `Authorization: Bearer`. Verified by `jose`; keys of a JWKS URL are cached. */
export function jwtTenantSource(settings: JwtSettings): (request: object) => Promise<string> {
  const verify = verifier(settings);
  return async (request) => {
    const claims = await verify(bearerToken(request));
    const tenant = claims[settings.claim];
    if (typeof tenant !== 'string' || tenant.trim() === '') {
      throw new ShardingError(
        'invalid_token',
        `the token has no claim "${settings.claim}" that names a tenant`,
      );
    }
    return tenant;
  };
}

function verifier({ key, issuer, audience }: JwtSettings): (token: string) => Promise<JWTPayload> {
  const options: JWTVerifyOptions = {
    algorithms: 'secret' in key ? HMAC : ASYMMETRIC,
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  };
  if ('jwksUrl' in key) {
    const keys = createRemoteJWKSet(key.jwksUrl, { timeoutDuration: JWKS_TIMEOUT_MS });
    return (token) => verified(jwtVerify(token, keys, options));
  }
  const secret = 'secret' in key ? new TextEncoder().encode(key.secret.reveal()) : key.publicKey;
  return (token) => verified(jwtVerify(token, secret, options));
}

async function verified(verification: Promise<{ payload: JWTPayload }>): Promise<JWTPayload> {
  try {
    return (await verification).payload;
  } catch (cause) {
    if (
      cause instanceof errors.JWKSTimeout ||
      cause instanceof errors.JWKSInvalid ||
      !(cause instanceof errors.JOSEError)
    ) {
      throw new ShardingError('identity_unavailable', 'the keys that verify tokens cannot be fetched', {
        cause,
      });
    }
    throw new ShardingError('invalid_token', `the token is not accepted (${cause.code})`, { cause });
  }
}

function bearerToken(request: object): string {
  const values = headerValues(request, 'authorization');
  const token =
    values.length === 1 ? /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(values[0] ?? '')?.[1] : undefined;
  if (token === undefined)
    throw new ShardingError('invalid_token', 'send one "Authorization: Bearer <token>" header');
  return token;
}
