import type { EventKey } from '../outbox/event-key.js';
import type { EventEnvelope } from '../outbox/event-envelope.js';
import type { OutboxEvent } from '../outbox/outbox-event.js';
import type { AskedStep } from './saga-progress.js';

/** The type of the events that drive sagas. */
export const SAGA_STEP_EVENT = 'sharding.saga_step';

/** What such an event says. */
export interface SagaStepPayload extends AskedStep {
  readonly sagaId: string;
}

/** Events that ask for steps. Each step of a saga is an aggregate of its own, so that one that waits holds up no other. */
export function sagaEvents(
  { sagaId, routingKey, keyKind }: EventKey & { readonly sagaId: string },
  asked: readonly AskedStep[],
  ids: () => string,
): OutboxEvent[] {
  const occurredAt = new Date();
  return asked.map(({ step, phase }) => ({
    eventId: ids(),
    actionId: sagaId,
    type: SAGA_STEP_EVENT,
    payload: { sagaId, step, phase } satisfies SagaStepPayload,
    routingKey,
    keyKind,
    aggregateId: `${sagaId}/${step}`,
    occurredAt,
  }));
}

export function sagaStepOf({ payload }: EventEnvelope): SagaStepPayload {
  return payload as unknown as SagaStepPayload;
}

/** The idempotency key of a step's action, or of its compensation. */
export function stepKey({ sagaId, step, phase }: SagaStepPayload): string {
  return JSON.stringify(['saga', sagaId, step, phase]);
}
