import { AsyncResource } from 'node:async_hooks';
import { isDeepStrictEqual } from 'node:util';
import { ShardingError } from '@app/routing';
import { NO_MOVES } from '../shards/open-move.js';
import { failureCode } from '../shards/database-failure.js';
import { isUnmigrated } from '../shards/sqlstates.js';
import { cannotRead, readOpenMoves } from './open-moves.js';
import type { HeldMoves, OpenMove } from '../shards/open-move.js';
import type { Ask } from './follower.js';

/** An answer is believed for so long: a mover waits for twice that before its copy can be seen (`moves/assert-routes`). */
const FRESH_MS = 1000;

/** The open moves for a process that follows no directory: it asks when it reads all shards, and not often. */
export class PolledMoves {
  #known: readonly OpenMove[] = [];
  #askedAt = -Infinity;
  /** Nobody answered: until then nobody is asked. */
  #deafUntil = -Infinity;
  #asking: Promise<void> | undefined;
  #silent = false;
  readonly #freshMs: number;
  /** A question is for all that wait for it, so it belongs to no request. */
  readonly #outside = new AsyncResource('nestjs-sharding.moves');

  /** @param wait whether movers wait for processes that poll: those of a fleet that follows the directory wait for leases alone */
  constructor(
    private readonly ask: Ask,
    private readonly warn: (line: string) => void,
    wait: 'waited-for' | 'overlooked' = 'waited-for',
  ) {
    this.#freshMs = wait === 'waited-for' ? FRESH_MS : 0;
  }

  /** For one read of all shards. What was known last where nobody answers. */
  async hold(): Promise<HeldMoves> {
    const began = performance.now();
    if (began - this.#askedAt >= this.#freshMs) this.#ask();
    await this.#asking;
    const moves = this.#known;
    return { ...NO_MOVES, moves, check: () => this.#check(moves, began) };
  }

  /** A mover has waited for reads that are shorter; one that lasted longer may have seen a copy that it knew nothing of. */
  async #check(moves: readonly OpenMove[], began: number): Promise<void> {
    if (performance.now() - began < this.#freshMs) return;
    await this.#asking; // it may have been asked too early
    this.#ask();
    await this.#asking;
    if (isDeepStrictEqual(moves, this.#known)) return;
    throw new ShardingError(
      'shard_moved',
      'rows began or ended to move while all shards were read, and may be in the answer twice, or not at all: read again',
    );
  }

  #ask(): void {
    if (performance.now() < this.#deafUntil) return;
    this.#asking ??= this.#outside
      .runInAsyncScope(() => this.#read())
      .finally(() => (this.#asking = undefined));
  }

  async #read(): Promise<void> {
    const askedAt = performance.now();
    try {
      this.#known = await readOpenMoves(this.ask);
      this.#askedAt = askedAt;
      this.#silent = false;
    } catch (error) {
      this.#deafUntil = performance.now() + FRESH_MS; // who comes next does not wait as long
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
