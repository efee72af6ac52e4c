import { LRUCache } from 'lru-cache';
import type { Pin } from './pin.js';

/** What a look-up found, also that there is no pin. */
export interface LookedUp {
  readonly pin: Pin | undefined;
  /** Of the directory when it was read. */
  readonly revision: number;
  /** On the clock of `performance.now()`. */
  readonly readAt: number;
}

/**
 * Entries of each half. A key has at most 255 bytes, so both halves together stay below 16 MB whatever is asked for.
 */
const HALF = 20_000;

/**
 * The last pins that were looked up, hits and misses, bounded. Keys that were asked for twice are kept apart from those
 * seen once (a segmented LRU: Karedla, Love and Wherry, "Caching strategies to improve disk system performance", 1994), so that
 * a flood of invented keys does not push out those of real tenants.
 */
export class LookedUpPins {
  readonly #once = new LRUCache<string, LookedUp>({ max: HALF });
  readonly #twice = new LRUCache<string, LookedUp>({ max: HALF });

  get size(): number {
    return this.#once.size + this.#twice.size;
  }

  get(key: string): LookedUp | undefined {
    const often = this.#twice.get(key);
    if (often) return often;
    const once = this.#once.get(key);
    if (!once) return undefined;
    this.#once.delete(key);
    this.#twice.set(key, once);
    return once;
  }

  set(key: string, found: LookedUp): void {
    if (this.#twice.has(key)) this.#twice.set(key, found);
    else this.#once.set(key, found);
  }

  delete(key: string): void {
    this.#once.delete(key);
    this.#twice.delete(key);
  }

  clear(): void {
    this.#once.clear();
    this.#twice.clear();
  }
}
