import { ShardingError } from '@app/routing';
import { isPassing } from '../executor/retry-policy.js';
import { stepKey } from './saga-events.js';
import type { ActionExecutor } from '../executor/action-executor.js';
import type { SagaStepPayload } from './saga-events.js';
import type { StepNews } from './saga-progress.js';
import type { SagaStep, SagaView } from './saga-steps.js';
import type { StoredSaga } from './saga-store.js';

/** A compensation that fails so often, other than because something cannot be reached, leaves its saga stuck. */
const UNDO_ATTEMPTS = 10;

/** News of a step, and why. */
export interface Told {
  readonly news: StepNews;
  readonly failure?: string;
}

/** A step that is to be done, of a saga that was read. */
export interface AskedWork {
  readonly saga: StoredSaga;
  readonly step: SagaStep<object>;
  readonly asked: SagaStepPayload;
  /** 1 at the first attempt. */
  readonly attempt: number;
}

/**
 * Does a step, or its compensation, and tells what became of it. That is decided once, by the row of the action ledger on the
 * step's shard: its effect, or that it was given up. Whichever commits there first holds.
 */
export class StepRunner {
  constructor(private readonly actions: ActionExecutor) {}

  /** @throws what says nothing of the step: it is tried again */
  async run(running: AskedWork): Promise<Told> {
    if (running.asked.phase === 'undo') return this.#undo(running);
    const { saga, step } = running;
    const { dueAt } = saga.progress.steps[step.name] ?? {};
    if (saga.progress.state === 'compensating') return this.#giveUp(running, 'another step was refused');
    if (dueAt !== undefined && saga.now > new Date(dueAt)) return this.#giveUp(running, 'timeout');
    try {
      const result = await this.actions.execute(
        step.action,
        step.params(viewOf(saga)),
        this.#options(running),
      );
      return { news: { step: step.name, outcome: 'done', result } };
    } catch (error) {
      if (isWaiting(error)) throw error;
      return this.#giveUp(running, reasonOf(error));
    }
  }

  /** Decides that a step is not done, unless it was. */
  async #giveUp(running: AskedWork, failure: string): Promise<Told> {
    const { step } = running;
    const ended = await this.actions.giveUp(step.action, this.#options(running));
    if (ended.applied) return { news: { step: step.name, outcome: 'done', result: ended.result } };
    return { news: { step: step.name, outcome: 'refused' }, failure: `${step.name}: ${failure}` };
  }

  async #undo(running: AskedWork): Promise<Told> {
    const { step, saga, attempt } = running;
    const { compensation } = step;
    try {
      if (compensation) {
        const params = compensation.params(viewOf(saga));
        await this.actions.execute(compensation.action, params, this.#options(running));
      }
      return { news: { step: step.name, outcome: 'undone' } };
    } catch (error) {
      if (isWaiting(error) || attempt < UNDO_ATTEMPTS) throw error;
      const failure = `compensation of ${step.name}: ${reasonOf(error)}`;
      return { news: { step: step.name, outcome: 'undo_failed' }, failure };
    }
  }

  #options({ saga, step, asked }: AskedWork) {
    const home = step.home(viewOf(saga));
    const idempotencyKey = stepKey(asked);
    return 'key' in home ? { key: home.key, idempotencyKey } : { home: home.at, idempotencyKey };
  }
}

function viewOf({ sagaId, data, progress }: StoredSaga): SagaView<object> {
  const results = Object.entries(progress.steps).map(([name, { result }]) => [name, result] as const);
  return { sagaId, data: data as object, results: Object.fromEntries(results) };
}

const WAITING = new Set(['commit_unknown', 'deadline_exceeded', 'aborted', 'transaction_closed']);

/** Whether it says nothing of the step: it is tried again until its time is over. */
function isWaiting(error: unknown): boolean {
  if (isPassing(error)) return true;
  return error instanceof ShardingError && (error.retryable || WAITING.has(error.code));
}

/** Never the text of an error of somebody else: it may hold content. */
function reasonOf(error: unknown): string {
  if (error instanceof ShardingError) return error.code;
  return error instanceof Error ? error.constructor.name : 'error';
}
