import { createPublicKey } from 'node:crypto';
import { Secret } from '../secret.js';
import { keyAs } from './key-style.js';
import type { TenancySettings, TenantSourceSettings } from '../sharding.settings.js';
import type { TenancyOptions } from '../tenancy.options.js';
import type { KeyStyle } from './key-style.js';

/** An HMAC key shorter than its hash is guessable (RFC 7518, section 3.2). */
const MIN_SECRET_LENGTH = 32;

/** Rules over several keys of `[tenancy]`; problems are pushed, and the settings are then not used. */
export function tenancySettings(
  options: TenancyOptions | undefined,
  style: KeyStyle,
  problems: string[],
): TenancySettings {
  if (!options || options.enabled === false) return { enabled: false };
  const problem = (key: keyof TenancyOptions, text: string) =>
    problems.push(`tenancy.${keyAs(style, key)}: ${text}`);
  if (options.resolve !== undefined && options.source !== 'custom') {
    problem('resolve', 'goes with source "custom" only');
  }
  return {
    enabled: true,
    required: options.required ?? 'on_use',
    publicPaths: options.publicPaths ?? [],
    maxLength: options.maxLength ?? 255,
    source: sourceSettings(options, problem),
    ...(options.normalize && { normalize: options.normalize }),
    ...(options.principalTenant && { principalTenant: options.principalTenant }),
  };
}

type Report = (key: keyof TenancyOptions, text: string) => void;

function sourceSettings(options: TenancyOptions, problem: Report): TenantSourceSettings {
  switch (options.source ?? 'header') {
    case 'subdomain': {
      const baseDomain = options.baseDomain?.toLowerCase().replace(/^\./, '');
      return { kind: 'subdomain', ...(baseDomain !== undefined && { baseDomain }) };
    }
    case 'jwt':
      return jwtSettings(options, problem);
    case 'custom': {
      const { resolve } = options;
      if (typeof resolve !== 'function') problem('resolve', 'source "custom" needs a function, in code');
      return { kind: 'custom', resolve: resolve ?? (() => undefined) };
    }
    default:
      return { kind: 'header', headerName: (options.headerName ?? 'x-tenant-id').toLowerCase() };
  }
}

function jwtSettings(options: TenancyOptions, problem: Report): TenantSourceSettings {
  const { jwtSecret, jwtPublicKey, jwksUrl, jwtIssuer, jwtAudience, jwtClaim } = options;
  if ([jwtSecret, jwtPublicKey, jwksUrl].filter((key) => key !== undefined).length !== 1) {
    problem('source', '"jwt" needs exactly one of a secret, a public key and a JWKS URL');
  }
  const rest = {
    ...(jwtIssuer !== undefined && { issuer: jwtIssuer }),
    ...(jwtAudience !== undefined && { audience: jwtAudience }),
    claim: jwtClaim ?? 'tenant_id',
  };
  if (jwtPublicKey !== undefined) {
    try {
      return { kind: 'jwt', key: { publicKey: createPublicKey(jwtPublicKey) }, ...rest };
    } catch {
      problem('jwtPublicKey', 'cannot be read as a PEM public key');
    }
  }
  if (jwksUrl !== undefined && URL.canParse(jwksUrl))
    return { kind: 'jwt', key: { jwksUrl: new URL(jwksUrl) }, ...rest };
  if (jwtSecret !== undefined && jwtSecret.length < MIN_SECRET_LENGTH) {
    problem('jwtSecret', `must have at least ${MIN_SECRET_LENGTH} characters`);
  }
  return { kind: 'jwt', key: { secret: new Secret(jwtSecret ?? '') }, ...rest };
}
