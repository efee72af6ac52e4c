import { createPublicKey } from 'node:crypto';
import { Secret } from '../secret.js';
import { keyAs } from './key-style.js';
import type { KeyObject } from 'node:crypto';
import type { JwtKeySettings, JwtSettings } from '../sharding.settings.js';
import type { TenancyOptions } from '../tenancy.options.js';
import type { KeyStyle } from './key-style.js';

/** Notes one problem of `[tenancy]`. */
export type Report = (key: keyof TenancyOptions, text: string) => void;

/** An HMAC key shorter than its hash is guessable (RFC 7518, section 3.2). */
const MIN_SECRET_LENGTH = 32;

/** Smaller keys can be broken, and `jose` refuses them (RFC 7518, section 3.3). */
const MIN_RSA_BITS = 2048;

/*
 * Algorithms are pinned by the kind of key: a public key must never serve as an HMAC secret, and `none` is never
 * accepted.
 */
const HMAC = ['HS256', 'HS384', 'HS512'];
const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'];
const EDWARDS = ['EdDSA', 'Ed25519'];
const BY_CURVE = new Map([
  ['prime256v1', ['ES256']],
  ['secp384r1', ['ES384']],
  ['secp521r1', ['ES512']],
]);
const ASYMMETRIC = [...RSA, ...[...BY_CURVE.values()].flat(), ...EDWARDS];

const KEYS = ['jwtSecret', 'jwtPublicKey', 'jwksUrl'] as const;

/** How tokens are verified; problems are reported, and the settings are then not used. */
export function jwtSettings(options: TenancyOptions, style: KeyStyle, report: Report): JwtSettings {
  const { jwtIssuer, jwtAudience, jwtClaim } = options;
  if (KEYS.filter((key) => options[key] !== undefined).length !== 1) {
    const [secret, publicKey, url] = KEYS.map((key) => keyAs(style, key));
    report('source', `"jwt" needs exactly one of ${secret}, ${publicKey} and ${url}`);
  }
  return {
    kind: 'jwt',
    key: Object.freeze(keySettings(options, report)),
    ...(jwtIssuer !== undefined && { issuer: jwtIssuer }),
    ...(jwtAudience !== undefined && { audience: jwtAudience }),
    claim: jwtClaim ?? 'tenant_id',
  };
}

function keySettings(options: TenancyOptions, report: Report): JwtKeySettings {
  const { jwtSecret, jwtPublicKey, jwksUrl } = options;
  if (typeof jwtPublicKey === 'string') {
    const publicKey = readPublicKey(jwtPublicKey);
    const algorithms = publicKey && algorithmsOf(publicKey);
    if (publicKey && algorithms) return { publicKey, algorithms };
    const usable = `RSA of at least ${MIN_RSA_BITS} bits, EC (P-256, P-384, P-521) and Ed25519`;
    report(
      'jwtPublicKey',
      publicKey ? `is no key that signs tokens: ${usable} do` : 'cannot be read as a PEM public key',
    );
  }
  if (typeof jwksUrl === 'string') return { jwksUrl: new Secret(jwksUrl), algorithms: ASYMMETRIC };
  if (typeof jwtSecret === 'string' && jwtSecret.length < MIN_SECRET_LENGTH) {
    report('jwtSecret', `must have at least ${MIN_SECRET_LENGTH} characters`);
  }
  return { secret: new Secret(String(jwtSecret)), algorithms: HMAC };
}

function readPublicKey(pem: string): KeyObject | undefined {
  try {
    return createPublicKey(pem);
  } catch {
    return undefined;
  }
}

function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly string[] | undefined {
  switch (asymmetricKeyType) {
    case 'rsa':
      return (asymmetricKeyDetails?.modulusLength ?? 0) >= MIN_RSA_BITS ? RSA : undefined;
    case 'ec':
      return BY_CURVE.get(asymmetricKeyDetails?.namedCurve ?? '');
    case 'ed25519':
      return EDWARDS;
    default:
      return undefined;
  }
}
