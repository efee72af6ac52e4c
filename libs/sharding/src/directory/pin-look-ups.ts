import { AsyncResource } from 'node:async_hooks';
import pLimit from 'p-limit';
import { ShardingError } from '@app/routing';
import { FIND_PIN, SHARDS_OF_SLOT } from './directory-statements.js';
import { LookedUpPins } from './looked-up-pins.js';
import { PinValues } from './pin.js';
import type { PinChange } from './directory-log.js';
import type { ChangeRow, FoundRow } from './directory-statements.js';
import type { LookedUp } from './looked-up-pins.js';
import type { Pin } from './pin.js';

/** Asks the control database; bounded in time. */
export type AskControl = <Row extends object>(sql: string, values: unknown[]) => Promise<Row[]>;

export interface LookUpParts {
  readonly ask: AskControl;
  /** At a time: a connection of the pool is left to others. */
  readonly width: number;
  readonly ttlMs: number;
  /** How old an answer may be that is given while the directory cannot be asked. */
  readonly maxStalenessMs: number;
  /** Told of each row that was read, or that there is none. */
  readonly found: (key: string, pin: Pin | undefined) => void;
}

/** Look-ups that may wait for their turn; beyond it the answer is 503 at once. */
const MAX_WAITING = 1000;
/** How long one waits for its turn. */
const MAX_WAIT_MS = 2000;

/**
 * Pins by key, for directories that are too large to keep. Concurrent questions about one key share a look-up. A look-up
 * that began before a change of its key is not kept: its revision is older than the one that the change brought.
 */
export class PinLookUps {
  readonly #kept = new LookedUpPins();
  readonly #values = new PinValues();
  readonly #running = new Map<string, Promise<LookedUp>>();
  readonly #turns;
  /** The look-up is for all that wait for it, so it belongs to no request. */
  readonly #outside = new AsyncResource('nestjs-sharding.directory');
  #revision = 0;

  constructor(private readonly parts: LookUpParts) {
    this.#turns = pLimit(parts.width);
  }

  /** How many keys are kept, pinned or not. */
  get size(): number {
    return this.#kept.size;
  }

  /** At once where the key is known. @throws ShardingError `directory_unavailable` */
  find(key: string): Pin | undefined | Promise<Pin | undefined> {
    const kept = this.#kept.get(key);
    if (kept && performance.now() - kept.readAt < this.parts.ttlMs) return kept.pin;
    return this.#look(key);
  }

  /** What was found before, also beyond its time, as far as it may be given while the directory cannot be asked. */
  kept(key: string): LookedUp | undefined {
    const kept = this.#kept.get(key);
    return kept && performance.now() - kept.readAt < this.parts.maxStalenessMs ? kept : undefined;
  }

  /** The shards that keys of a slot are pinned to; never kept. @throws ShardingError `directory_unavailable` */
  async shardsOfSlot(slot: number): Promise<string[]> {
    try {
      const ask = () => this.parts.ask<{ shard_name: string }>(SHARDS_OF_SLOT, [slot]);
      const rows = await this.#turn(ask);
      return rows.map(({ shard_name }) => shard_name);
    } catch (cause) {
      throw unavailable(cause);
    }
  }

  /** @returns what changed, or `everything` where the rows do not say which: nothing is kept then */
  apply(rows: readonly ChangeRow[], revision: number): PinChange[] | 'everything' {
    if (rows.some(({ changes, changed }) => changes && changed === null)) {
      this.clear(revision);
      return 'everything';
    }
    const changes = new Map<string, PinChange>();
    for (const row of rows) {
      const key = row.changed;
      if (key !== null) changes.set(key, { key, after: row.pinned ? this.#values.of(row) : undefined });
    }
    this.changed(changes.keys(), revision);
    return [...changes.values()];
  }

  /** These keys changed, up to and with this revision. */
  changed(keys: Iterable<string>, revision: number): void {
    for (const key of keys) {
      this.#kept.delete(key);
      this.#running.delete(key); // who comes now asks anew
    }
    this.#revision = revision;
  }

  /** Everything may have changed. */
  clear(revision: number): void {
    this.#kept.clear();
    this.#running.clear();
    this.#revision = revision;
  }

  async #look(key: string): Promise<Pin | undefined> {
    try {
      return (await (this.#running.get(key) ?? this.#ask(key))).pin;
    } catch (cause) {
      const kept = this.kept(key); // unless it changed since
      if (kept) return kept.pin;
      throw unavailable(cause);
    }
  }

  #ask(key: string): Promise<LookedUp> {
    const asked = this.#turn(() => this.#read(key)).finally(() => {
      if (this.#running.get(key) === asked) this.#running.delete(key);
    });
    this.#running.set(key, asked);
    return asked;
  }

  /** Runs `ask` when it is its turn: soon, or not at all. */
  async #turn<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#turns.pendingCount >= MAX_WAITING) {
      throw new Error(`${MAX_WAITING} look-ups are waiting already`);
    }
    const ends = performance.now() + MAX_WAIT_MS;
    return this.#outside.runInAsyncScope(() =>
      this.#turns(() => {
        if (performance.now() > ends) throw new Error(`no turn within ${MAX_WAIT_MS} ms`);
        return ask();
      }),
    );
  }

  async #read(key: string): Promise<LookedUp> {
    const readAt = performance.now();
    const [row] = await this.parts.ask<FoundRow>(FIND_PIN, [key]);
    if (!row) throw new Error('_sharding_revision has no row');
    const found = {
      pin: row.pinned ? this.#values.of(row) : undefined,
      revision: Number(row.revision),
      readAt,
    };
    if (found.revision < this.#revision) return found;
    this.#kept.set(owned(key), found);
    this.parts.found(key, found.pin);
    return found;
  }
}

/** A copy: part of a longer string, of a header say, would keep all of that in memory. */
function owned(key: string): string {
  return Buffer.from(key).toString();
}

function unavailable(cause: unknown): ShardingError {
  return new ShardingError(
    'directory_unavailable',
    'the directory of pins cannot be asked where this key is; try again when the control database answers',
    { cause },
  );
}
