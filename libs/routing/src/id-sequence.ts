import { randomBytes } from 'node:crypto';
import { ShardingError } from './sharding-error.js';
import { UuidText } from './uuid-text.js';

/** Where ids take time and chance from; a test gives its own. */
export interface IdSource {
  /** Milliseconds since 1970; the system clock by default. */
  readonly now?: (() => number) | undefined;
  /** That many random bytes, asked for 4,096 at a time; those of `node:crypto` by default. */
  readonly randomBytes?: ((size: number) => Uint8Array) | undefined;
}

const LARGEST_MS = 2 ** 48 - 1;
const POOL_BYTES = 4096;
const LIMB = 2 ** 32;

/**
 * A strictly increasing sequence of (milliseconds, tail), the tail being 48 or 60 bits: what makes ids of one process
 * ascend. One sequence serves all shards or slots: what increases among all increases within each of them, so that
 * its state is three numbers and 4 KB of chance, however many shards and slots there are.
 *
 * In a new millisecond the tail is random. Within one it grows by a random step of 1 to 2^32, so that neighbours cannot be
 * counted. When the tail is used up, or the clock stands still or steps back, the sequence goes on from its own last
 * millisecond: it never waits and never repeats.
 */
export class IdSequence {
  /** Where the id is written; its milliseconds already are. */
  readonly text = new UuidText();
  /** The tail but its low 32 bits. */
  high = 0;
  /** The low 32 bits of the tail. */
  low = 0;
  #ms = NaN;
  #pool: DataView | undefined;
  #used = POOL_BYTES;
  readonly #largestHigh: number;
  readonly #now: () => number;
  readonly #randomBytes: (size: number) => Uint8Array;

  /** @param tailBits 33 to 63, the size of the tail */
  constructor(tailBits: number, source: IdSource = {}) {
    this.#largestHigh = 2 ** (tailBits - 32) - 1;
    this.#now = source.now ?? Date.now;
    this.#randomBytes = source.randomBytes ?? randomBytes;
  }

  /** Goes on to the next id, whose parts are then in the fields. */
  next(): void {
    const now = this.#now();
    if (now <= this.#ms) this.#step();
    else this.#begin(Math.floor(now));
  }

  #begin(ms: number): void {
    if (ms === this.#ms) return this.#step();
    if (!(ms >= 0 && ms <= LARGEST_MS)) {
      throw new ShardingError(
        'invalid_options',
        'the clock of the ids is not in milliseconds since 1970 of 48 bits',
      );
    }
    const high = this.#random() & this.#largestHigh;
    this.low = this.#random();
    this.high = high;
    this.#ms = ms;
    this.text.writeMilliseconds(ms);
  }

  #step(): void {
    const low = this.low + this.#random() + 1;
    if (low < LIMB) {
      this.low = low;
    } else if (this.high < this.#largestHigh) {
      this.low = low - LIMB;
      this.high++;
    } else {
      this.#begin(this.#ms + 1);
    }
  }

  #random(): number {
    if (this.#pool === undefined || this.#used === POOL_BYTES) {
      const bytes = this.#randomBytes(POOL_BYTES);
      if (bytes.byteLength !== POOL_BYTES) {
        throw new ShardingError(
          'invalid_options',
          `randomBytes(${POOL_BYTES}) must answer with as many bytes`,
        );
      }
      this.#pool = new DataView(bytes.buffer, bytes.byteOffset, POOL_BYTES);
      this.#used = 0;
    }
    const value = this.#pool.getUint32(this.#used);
    this.#used += 4;
    return value;
  }
}
