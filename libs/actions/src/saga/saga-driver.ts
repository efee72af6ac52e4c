import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { ShardingError } from '@app/routing';
import { appendEvents } from '../outbox/append-events.js';
import { SAGA_STEP_EVENT, sagaEvents, sagaStepOf } from './saga-events.js';
import { advanceSaga, withDueTimes } from './saga-progress.js';
import { lockSaga, readSaga, updateSaga } from './saga-store.js';
import { dueTimes } from './sagas.js';
import { stagesOf, stepsOf } from './saga-steps.js';
import type { ShardDb, Shards } from '@app/sharding';
import type { EventEnvelope } from '../outbox/event-envelope.js';
import type { OutboxSignal } from '../outbox/outbox-signal.js';
import type { Subscriber } from '../outbox/subscriber.js';
import type { SagaDefinitions } from './saga-definitions.js';
import type { SagaStepPayload } from './saga-events.js';
import type { SagaStep, SagaSteps } from './saga-steps.js';
import type { StoredSaga } from './saga-store.js';
import type { StepRunner, Told } from './step-runner.js';

const CONCURRENCY = 16;
/** A shard that is away is looked at so often, which also bounds how late a timeout is noticed. */
const MOST_RETRY_MS = 5000;

/** What drives sagas. */
export interface DriverParts {
  readonly shards: Shards;
  readonly definitions: SagaDefinitions;
  readonly runner: StepRunner;
  readonly outbox: OutboxSignal;
}

/** Does the steps of sagas as the outbox asks for them, and stores what comes next, with the events that ask for it. */
export class SagaDriver implements Subscriber {
  readonly name = 'sharding.sagas';
  readonly type = SAGA_STEP_EVENT;
  readonly concurrency = CONCURRENCY;
  /** A shard that cannot be reached is waited for, however long. */
  readonly maxAttempts = Infinity;
  readonly mostRetryMs = MOST_RETRY_MS;
  readonly #logger = new Logger('Sagas');
  readonly #parts: DriverParts;

  constructor(parts: DriverParts) {
    this.#parts = parts;
  }

  /** Does one step, or learns that it is done, and stores what comes next. */
  async deliver(event: EventEnvelope): Promise<void> {
    const { shards, runner } = this.#parts;
    const asked = sagaStepOf(event);
    const { routingKey, shard } = event;
    const db = await (routingKey === undefined ? shards.dbOn(shard) : shards.dbFor(routingKey));
    const saga = await readSaga(db, asked.sagaId);
    if (!saga || !isOpen(saga, asked)) return;
    const definition = this.#definition(saga, asked);
    const told = await runner.run({ saga, asked, attempt: event.attempt, step: definition.step });
    await this.#store(db, asked.sagaId, { ...told, all: definition.all });
  }

  #definition(
    { name }: StoredSaga,
    asked: SagaStepPayload,
  ): { all: SagaSteps<object>; step: SagaStep<object> } {
    const all = this.#parts.definitions.named(name)?.saga;
    const step = all && stepsOf(all).get(asked.step);
    if (step) return { all, step };
    throw new ShardingError(
      'invalid_options',
      `this version of the application has no step "${asked.step}" of the saga "${name}": run one that has it`,
    );
  }

  async #store(db: ShardDb, sagaId: string, on: Told & { readonly all: SagaSteps<object> }): Promise<void> {
    const state = await db.tx(async (tx) => {
      const saga = await lockSaga(tx, sagaId);
      if (!saga) return undefined;
      const change = withDueTimes(
        advanceSaga(stagesOf(on.all), saga.progress, on.news),
        dueTimes(on.all, saga.now),
      );
      await updateSaga(tx, sagaId, { progress: change.progress, failure: on.failure });
      await appendEvents(tx, sagaEvents(saga, change.asked, randomUUID));
      return change.progress.state;
    });
    if (state === 'stuck') {
      this.#logger.error(`saga ${sagaId} is stuck: mend the cause, then shardctl sagas resume ${sagaId}`);
    }
    this.#parts.outbox.written(db.shard.name);
  }
}

/** Whether the saga still waits for what was asked. */
function isOpen({ progress }: StoredSaga, { step, phase }: SagaStepPayload): boolean {
  return progress.steps[step]?.state === (phase === 'do' ? 'asked' : 'undoing') && progress.state !== 'stuck';
}
