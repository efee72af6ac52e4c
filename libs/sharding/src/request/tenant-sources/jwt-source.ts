import { createRemoteJWKSet, errors, jwtVerify } from 'jose';
import { ShardingError } from '@app/routing';
import { headerValues } from '../http-request.js';
import type { JWTPayload, JWTVerifyOptions } from 'jose';
import type { JwtSettings } from '../../sharding.settings.js';

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
    algorithms: [...key.algorithms],
    ...(issuer !== undefined && { issuer }),
    ...(audience !== undefined && { audience }),
  };
  if ('jwksUrl' in key) {
    const keys = createRemoteJWKSet(new URL(key.jwksUrl.reveal()), { timeoutDuration: JWKS_TIMEOUT_MS });
    return (token) =>
      jwtVerify(token, keys, options).then(payloadOf, (cause: unknown) => {
        throw isTokenAtFault(cause) ? refused(cause) : keysUnavailable(cause);
      });
  }
  const secret = 'secret' in key ? new TextEncoder().encode(key.secret.reveal()) : key.publicKey;
  return (token) =>
    jwtVerify(token, secret, options).then(payloadOf, (cause: unknown) => {
      throw refused(cause);
    });
}

function payloadOf({ payload }: { payload: JWTPayload }): JWTPayload {
  return payload;
}

/** `jose` reports a key server that answers with anything but a key set by its generic error. */
function isTokenAtFault(cause: unknown): boolean {
  return (
    cause instanceof errors.JOSEError &&
    cause.code !== errors.JOSEError.code &&
    !(cause instanceof errors.JWKSTimeout || cause instanceof errors.JWKSInvalid)
  );
}

function refused(cause: unknown): ShardingError {
  const code = cause instanceof errors.JOSEError ? ` (${cause.code})` : '';
  return new ShardingError('invalid_token', `the token is not accepted${code}`, { cause });
}

function keysUnavailable(cause: unknown): ShardingError {
  return new ShardingError('identity_unavailable', 'the keys that verify tokens cannot be fetched', {
    cause,
  });
}

function bearerToken(request: object): string {
  const values = headerValues(request, 'authorization');
  const token =
    values.length === 1 ? /^bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(values[0] ?? '')?.[1] : undefined;
  if (token === undefined)
    throw new ShardingError('invalid_token', 'send one "Authorization: Bearer <token>" header');
  return token;
}
