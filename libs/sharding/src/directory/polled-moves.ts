import { AsyncResource } from 'node:async_hooks';
import { failureCode } from '../shards/database-failure.js';
import { isUnmigrated } from '../shards/sqlstates.js';
import { cannotRead, readOpenMoves } from './open-moves.js';
import type { OpenMove } from '../shards/open-move.js';
import type { Ask } from './follower.js';

/** An answer is believed for so long: a mover waits for twice that before its copy can be seen (`moves/assert-routes`). */
const FRESH_MS = 1000;

/** The open moves for a process that follows no directory: it asks when it reads all shards, and not often. */
export class PolledMoves {
  #known: readonly OpenMove[] = [];
  #askedAt = -Infinity;
  #asking: Promise<void> | undefined;
  #silent = false;
  /** A question is for all that wait for it, so it belongs to no request. */
  readonly #outside = new AsyncResource('nestjs-sharding.moves');

  constructor(
    private readonly ask: Ask,
    private readonly warn: (line: string) => void,
  ) {}

  /** What was known last where nobody answers. */
  async current(): Promise<readonly OpenMove[]> {
    if (performance.now() - this.#askedAt >= FRESH_MS) {
      this.#asking ??= this.#outside
        .runInAsyncScope(() => this.#read())
        .finally(() => (this.#asking = undefined));
    }
    await this.#asking;
    return this.#known;
  }

  async #read(): Promise<void> {
    const askedAt = performance.now();
    try {
      this.#known = await readOpenMoves(this.ask);
      this.#askedAt = askedAt;
      this.#silent = false;
    } catch (error) {
      this.#askedAt = performance.now(); // who comes next does not wait as long
      this.#failed(failureCode(error));
    }
  }

  /** Without the tables nothing moves. */
  #failed(code: string | undefined): void {
    if (this.#silent || isUnmigrated(code)) return;
    this.#silent = true;
    this.warn(cannotRead(code));
  }
}
