import { Shards } from '@app/sharding';
import { ActionExecutor } from '../executor/action-executor.js';
import { OutboxSignal } from '../outbox/outbox-signal.js';
import { Subscribers } from '../outbox/subscribers.js';
import { SagaDefinitions } from './saga-definitions.js';
import { SagaDriver } from './saga-driver.js';
import { Sagas } from './sagas.js';
import { StepRunner } from './step-runner.js';
import type { Provider } from '@nestjs/common';

/** Sagas' part of `ActionsModule`. */
export function sagaProviders(): Provider[] {
  return [SagaDefinitions, Sagas, stepRunner(), driver()];
}

function stepRunner(): Provider {
  return {
    provide: StepRunner,
    inject: [ActionExecutor],
    useFactory: (actions: ActionExecutor) => new StepRunner(actions),
  };
}

/** It gets its events as handlers do. */
function driver(): Provider {
  return {
    provide: SagaDriver,
    inject: [Shards, SagaDefinitions, StepRunner, OutboxSignal, Subscribers],
    useFactory: (...parts: [Shards, SagaDefinitions, StepRunner, OutboxSignal, Subscribers]) => {
      const [shards, definitions, runner, outbox, subscribers] = parts;
      const made = new SagaDriver({ shards, definitions, runner, outbox });
      subscribers.add(made);
      return made;
    },
  };
}
