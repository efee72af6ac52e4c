import { ShardingError } from '@app/routing';
import type { Place, RoutingKey } from '@app/routing';
import type { ActionClass } from '../action/action.decorator.js';
import type { SagaStages } from './saga-progress.js';

/** What a saga knows when a step is asked for. */
export interface SagaView<Data> {
  /** UUID. */
  readonly sagaId: string;
  /** What it was started with. */
  readonly data: Data;
  /** What the steps that are done have returned, by name. */
  readonly results: Readonly<Record<string, unknown>>;
}

/** Where a step is decided, and where its rows are: by a routing key, or by the place that an id names. */
export type StepHome = { readonly key: RoutingKey } | { readonly at: Place };

/** What a step does. */
export interface StepOptions<Data, Params, Undo> {
  /** Changes one shard. */
  readonly action: ActionClass<Params>;
  readonly params: (saga: SagaView<Data>) => Params;
  readonly home: (saga: SagaView<Data>) => StepHome;
  /** Undoes it, on the same shard. A step without one is kept when the saga turns round. */
  readonly compensation?: {
    readonly action: ActionClass<Undo>;
    readonly params: (saga: SagaView<Data>) => Undo;
  };
  /** Time until it must have been committed, by the clock of the saga's shard; else the saga turns round. Default 60000. */
  readonly timeoutMs?: number;
}

/** A step; its types are those of its own actions. */
export interface SagaStep<Data> extends StepOptions<Data, unknown, unknown> {
  readonly name: string;
  readonly timeoutMs: number;
}

const DEFAULT_TIMEOUT_MS = 60_000;

/**
 * Work on several shards: each step is an action on one of them. When a step is refused, by an error of its action or by
 * its timeout, those that are done are undone, last one first.
 *
 * Stages run one after the other; a stage that is a list runs its steps side by side.
 */
export abstract class SagaSteps<Data extends object> {
  abstract readonly stages: readonly (SagaStep<Data> | readonly SagaStep<Data>[])[];

  /** A step of {@link stages}. @param name permanent, unique in the saga */
  protected step<Params, Undo>(name: string, options: StepOptions<Data, Params, Undo>): SagaStep<Data> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    if (name === '' || !Number.isInteger(timeoutMs) || timeoutMs < 1) {
      throw new ShardingError(
        'invalid_options',
        'a step of a saga needs a name, and a timeoutMs that is a whole number of at least 1',
      );
    }
    return { ...(options as StepOptions<Data, unknown, unknown>), name, timeoutMs };
  }
}

/** All steps of a saga, by name. @throws ShardingError `invalid_options` for none, and for a name that is given twice */
export function stepsOf(saga: SagaSteps<object>): ReadonlyMap<string, SagaStep<object>> {
  const steps = saga.stages.flat();
  const byName = new Map(steps.map((step) => [step.name, step]));
  if (byName.size === steps.length && steps.length > 0) return byName;
  throw new ShardingError(
    'invalid_options',
    `${saga.constructor.name} needs steps, each with a name of its own`,
  );
}

/** The order of the steps. */
export function stagesOf(saga: SagaSteps<object>): SagaStages {
  return saga.stages.map((stage) =>
    [stage].flat().map(({ name, compensation }) => ({ name, compensated: compensation !== undefined })),
  );
}
