import { setTimeout as pause } from 'node:timers/promises';

/** Keeps the work of an audit below so many keys per second. */
export class Pace {
  readonly #began = performance.now();
  #keys = 0;

  constructor(
    private readonly perSecond: number | undefined,
    private readonly signal: AbortSignal,
  ) {}

  /** How many were looked at. */
  get keys(): number {
    return this.#keys;
  }

  count(keys: number): void {
    this.#keys += keys;
  }

  /** Until the keys that were looked at are allowed. */
  async wait(): Promise<void> {
    this.signal.throwIfAborted();
    if (this.perSecond === undefined) return;
    const early = (this.#keys * 1000) / this.perSecond - (performance.now() - this.#began);
    if (early >= 1) await pause(early, undefined, { signal: this.signal });
  }
}
