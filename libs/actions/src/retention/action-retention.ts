import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { deleteParts } from '../cross/part-statements.js';
import { deleteOldLedger } from '../ledger/ledger-statements.js';
import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import type { Shards } from '@app/sharding';
import type { ActionDatabases } from '../cross/action-databases.js';

/** How long ended actions are known. */
export interface RetentionDays {
  readonly ledgerDays: number;
  readonly journalDays: number;
}

interface RetentionParts {
  readonly shards: Shards;
  readonly databases: ActionDatabases;
  /** Without a control database there is no journal. */
  readonly journal: 'kept' | 'absent';
  readonly days: RetentionDays;
}

const EACH_MS = 600_000;
/** Rows of one table that one step deletes. */
const BATCH = 1000;

/** Deletes results and journals that are old enough, a bounded piece at a time. Several processes do no harm. */
export class ActionRetention implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #parts: RetentionParts;
  readonly #stop = new AbortController();
  #loop: Promise<void> | undefined;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
  }

  onApplicationBootstrap(): void {
    this.#loop = this.#run();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  /** One piece of everything; what fails is left for the next time. */
  async step(): Promise<void> {
    const { shards, days, journal } = this.#parts;
    await shards.each((db) => deleteOldLedger(db, days.ledgerDays, BATCH), { signal: this.#stop.signal });
    if (journal === 'kept') await this.#journals();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const jitter = 0.5 + Math.random() / 2;
      await pause(EACH_MS * jitter, undefined, { signal, ref: false }).catch(() => undefined);
      if (!signal.aborted) await this.step().catch(untold);
    }
  }

  /** The parts first: a journal that is gone tells nobody of them. */
  async #journals(): Promise<void> {
    const { databases, days } = this.#parts;
    const entries = await databases.journal.ended(days.journalDays, BATCH);
    const kept = new Set<string>();
    for (const shard of new Set(entries.flatMap(({ shards }) => shards))) {
      const ids = entries.filter(({ shards }) => shards.includes(shard)).map(({ actionId }) => actionId);
      const db = databases.shard(shard);
      await db.then((on) => deleteParts(on, ids)).catch(() => ids.forEach((id) => kept.add(id)));
    }
    await databases.journal.forget(
      entries.map(({ actionId }) => actionId).filter((actionId) => !kept.has(actionId)),
    );
  }
}

function untold(error: unknown): void {
  new Logger(ActionRetention.name).debug(
    `nothing old was deleted: ${error instanceof Error ? error.name : 'error'}`,
  );
}
