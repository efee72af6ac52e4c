import { createHash, createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';
import { ShardingError } from '@app/routing';
import type { KeyObject } from 'node:crypto';

/** One global position: the keys of a row and the shard that it is on. */
export interface CursorPosition {
  /** Text forms of the order's values and of the primary key. */
  readonly texts: readonly (string | null)[];
  /** By declaration order. */
  readonly shard: number;
}

const VERSION = 'v1';
/** So that the key's signatures for other purposes are none of ours. */
const PURPOSE = 'nestjs-sharding cursor ';
/** Without a secret cursors are of this process: they end with it, and another process does not take them. */
const OWN_KEY_BYTES = 32;
const FORM = /^v1\.([\w-]{43})\.([\w-]+)$/;

/**
 * Writes and reads page cursors: `v1.<mac>.<position>`, signed with HMAC-SHA256 over the position and what it is bound
 * to. Signed, not encrypted: whoever holds a cursor can read the order values and the primary key of its row.
 */
export class Cursors {
  readonly #key: KeyObject;

  /** @param secret the same in every process; undefined: a random one of this process */
  constructor(secret: string | undefined) {
    this.#key = createSecretKey(secret === undefined ? randomBytes(OWN_KEY_BYTES) : Buffer.from(secret));
  }

  /** @param binding what the cursor belongs to: see {@link bindingOf} */
  write({ texts, shard }: CursorPosition, binding: string): string {
    const body = Buffer.from(JSON.stringify([shard, ...texts])).toString('base64url');
    return `${VERSION}.${this.#mac(body, binding)}.${body}`;
  }

  /** @throws ShardingError `invalid_cursor`; the content is looked at only when it is signed for this very query */
  read(cursor: unknown, binding: string): CursorPosition {
    const [, mac = '', body = ''] = (typeof cursor === 'string' && FORM.exec(cursor)) || [];
    if (!same(mac, this.#mac(body, binding))) throw invalidCursor();
    const [shard, ...texts] = JSON.parse(Buffer.from(body, 'base64url').toString()) as [number, ...string[]];
    return { shard, texts };
  }

  #mac(body: string, binding: string): string {
    return createHmac('sha256', this.#key)
      .update(`${PURPOSE}${VERSION}.${binding}.${body}`)
      .digest('base64url');
  }
}

/** What a cursor is valid for: a digest of the parts, which are told apart whatever they contain. */
export function bindingOf(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}

function same(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function invalidCursor(): ShardingError {
  return new ShardingError(
    'invalid_cursor',
    'the cursor was tampered with, or is of another query, topology or process: begin again without `after`',
  );
}
