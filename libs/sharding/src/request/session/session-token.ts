import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import type { Secret } from '../../secret.js';
import type { Lsn } from '../../shards/reads/lsn.js';

/** The most bytes of a token that is written or looked at. */
export const MAX_TOKEN_BYTES = 2048;

/** Where a session's writes end on one primary; `unknown`: the primary has to be asked. */
export interface SessionEntry {
  /** Of letters, digits and `-_@`. */
  readonly name: string;
  readonly position: Lsn | 'unknown';
  /** The replica shows it already: the entry may be left out. */
  readonly replayed?: boolean;
}

/** What a token says: entries, or `all`: every primary has to be asked. */
export type SessionClaim = readonly SessionEntry[] | 'all';

const VERSION = 'v1.';
/** SHA-256 in base64url. */
const MAC_LENGTH = 43;
/** So that the key's signatures for other purposes are none of ours. */
const PURPOSE = 'nestjs-sharding session ';
const ALL = '*';
const ENTRY = /^([\w@-]+):(\*|[\da-f]{1,16})$/;

/**
 * Writes and reads tokens: `v1.<mac>.<name>:<position in hex>.<name>:* ...`, or `v1.<mac>.*`; every character may stand
 * in a header and in a cookie. Signed, not encrypted.
 */
export class SessionTokens {
  readonly #key: KeyObject;

  constructor(secret: Secret) {
    this.#key = createSecretKey(Buffer.from(secret.reveal()));
  }

  /** Undefined for no entries. What does not fit is left out where it may be; else the token says `all`. */
  write(entries: readonly SessionEntry[]): string | undefined {
    if (entries.length === 0) return undefined;
    const body = [entries, entries.filter(({ replayed }) => replayed !== true)].map(textOf).find(fits) ?? ALL;
    return body === '' ? undefined : `${VERSION}${this.#mac(body)}.${body}`;
  }

  /** Undefined for everything that this key has not signed; the content is looked at only after that. */
  read(token: string): SessionClaim | undefined {
    const bodyAt = VERSION.length + MAC_LENGTH + 1;
    if (token.length <= bodyAt || token.length > MAX_TOKEN_BYTES || !token.startsWith(VERSION))
      return undefined;
    const body = token.slice(bodyAt);
    const given = Buffer.from(token.slice(VERSION.length, bodyAt));
    const right = Buffer.from(`${this.#mac(body)}.`);
    if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
    return body === ALL ? 'all' : body.split('.').flatMap(parsed);
  }

  #mac(body: string): string {
    return createHmac('sha256', this.#key).update(`${PURPOSE}${VERSION}${body}`).digest('base64url');
  }
}

function textOf(entries: readonly SessionEntry[]): string {
  return entries
    .map(({ name, position }) => `${name}:${position === 'unknown' ? ALL : position.toString(16)}`)
    .join('.');
}

function fits(body: string): boolean {
  return VERSION.length + MAC_LENGTH + 1 + body.length <= MAX_TOKEN_BYTES;
}

function parsed(text: string): SessionEntry[] {
  const [, name, position] = ENTRY.exec(text) ?? [];
  if (name === undefined || position === undefined) return [];
  return [{ name, position: position === ALL ? 'unknown' : BigInt(`0x${position}`) }];
}
