import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { ShardingError } from '@app/routing';
import { Shards } from '@app/sharding';
import { appendEvents } from '../outbox/append-events.js';
import { eventKey } from '../outbox/event-key.js';
import { OutboxSignal } from '../outbox/outbox-signal.js';
import { resumeStored } from './resume-stored.js';
import { sagaEvents } from './saga-events.js';
import { SagaDefinitions } from './saga-definitions.js';
import { beginSaga, isAtRest, withDueTimes } from './saga-progress.js';
import { clockOf, insertSaga, readSaga } from './saga-store.js';
import { stagesOf, stepsOf } from './saga-steps.js';
import type { Type } from '@nestjs/common';
import type { ShardDb } from '@app/sharding';
import type { StepHome, SagaSteps } from './saga-steps.js';
import type { StoredSaga } from './saga-store.js';

/** Where a saga lives, and under which id. */
export type StartOptions = StepHome & {
  /** UUID; the same one starts the saga once. Default: a random one. */
  readonly sagaId?: string;
};

/** How long a saga is waited for. */
export interface FinishedOptions {
  /** Default 10000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

const DEFAULT_WAIT_MS = 10_000;
const LOOK_MS = 50;

/** Starts sagas and looks at them. */
@Injectable()
export class Sagas {
  constructor(
    @Inject(Shards) private readonly shards: Shards,
    @Inject(SagaDefinitions) private readonly definitions: SagaDefinitions,
    @Inject(OutboxSignal) private readonly outbox: OutboxSignal,
  ) {}

  /**
   * Stores a saga on the shard of its key, or of its place, with the events that ask for its first steps: in one transaction,
   * or as part of the `tx()` of that shard that the caller is in.
   *
   * @returns its id, also where it was started before
   * @throws ShardingError `invalid_options` for a class that is no saga, and what routing throws
   */
  async start<Data extends object>(
    target: Type<SagaSteps<Data>>,
    data: Data,
    { sagaId = randomUUID(), ...home }: StartOptions,
  ): Promise<string> {
    const { name, saga } = this.definitions.of(target);
    const key = eventKey('key' in home ? home.key : undefined);
    const db = await dbAt(this.shards, home);
    const started = await db.tx(async (tx) => {
      const now = await clockOf(tx);
      const change = withDueTimes(beginSaga(stagesOf(saga)), dueTimes(saga, now));
      const row = { sagaId, name, ...key, data, progress: change.progress };
      if (!(await insertSaga(tx, row))) return false;
      await appendEvents(tx, sagaEvents(row, change.asked, randomUUID));
      return true;
    });
    if (started) this.outbox.written(db.shard.name);
    return sagaId;
  }

  /** Undefined where there is none, or not any more. */
  async find(sagaId: string, home: StepHome): Promise<StoredSaga | undefined> {
    return readSaga(await dbAt(this.shards, home), sagaId);
  }

  /** Takes a stuck saga up again, once the cause is mended. @returns false where it is not stuck */
  async resume(sagaId: string, home: StepHome): Promise<boolean> {
    const db = await dbAt(this.shards, home);
    const resumed = (await db.tx((tx) => resumeStored(tx, sagaId))) === 'resumed';
    if (resumed) this.outbox.written(db.shard.name);
    return resumed;
  }

  /**
   * Waits until a saga is completed, compensated or stuck; it goes on whether or not somebody waits.
   *
   * @throws ShardingError `deadline_exceeded`; `invalid_options` where there is no such saga
   */
  async finished(
    sagaId: string,
    home: StepHome,
    { timeoutMs = DEFAULT_WAIT_MS, signal }: FinishedOptions = {},
  ): Promise<StoredSaga> {
    const until = performance.now() + timeoutMs;
    for (;;) {
      const saga = await this.find(sagaId, home);
      if (!saga) throw new ShardingError('invalid_options', `there is no saga ${sagaId} at that place`);
      if (isAtRest(saga.progress)) return saga;
      if (performance.now() > until) {
        throw new ShardingError('deadline_exceeded', `saga ${sagaId} goes on: look at it again later`);
      }
      await pause(LOOK_MS, undefined, signal && { signal });
    }
  }
}

/** The primary where a saga lives. */
export async function dbAt(shards: Shards, home: StepHome): Promise<ShardDb> {
  if ('key' in home) return shards.dbFor(home.key);
  const [shard] = await shards.shardsOfPlace(home.at);
  return (shard as NonNullable<typeof shard>).primary();
}

/** Until when the steps of a saga must be done that are asked for now. */
export function dueTimes(saga: SagaSteps<object>, now: Date): (step: string) => Date {
  const steps = stepsOf(saga);
  return (step) => new Date(now.getTime() + (steps.get(step)?.timeoutMs ?? 0));
}
