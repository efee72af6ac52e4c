import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { ShardingError } from '@app/routing';
import { actionTraits } from '../action/action.decorator.js';
import { ActionPlan } from '../plan/action-plan.js';
import { placePlan } from '../plan/place-plan.js';
import { isPassing, resolveRetry, retryDelay } from './retry-policy.js';
import { settleEntities, writePart } from './write-part.js';
import type { ModuleRef } from '@nestjs/core';
import type { EntityPlaces, Shards } from '@app/sharding';
import type { OutboxSignal } from '../outbox/outbox-signal.js';
import type { Action, ActionClass, ActionTraits } from '../action/action.decorator.js';
import type { PlacedPart, PlacedPlan } from '../plan/placed-plan.js';
import type { ActionSettings } from './action-settings.js';
import type { ExecuteOptions } from './execute-options.js';

/** An action that is being executed. */
interface Execution<Params, Result> {
  readonly action: Action<Params, Result>;
  readonly traits: ActionTraits;
  readonly params: Params;
  readonly options: ExecuteOptions;
}

/** What an executor works with. */
export interface ExecutorParts {
  readonly modules: ModuleRef;
  readonly shards: Shards;
  readonly places: EntityPlaces;
  readonly outbox: OutboxSignal;
  readonly settings: ActionSettings;
}

/** Runs actions: `perform`, then one transaction for each shard of what it has staged. */
export class ActionExecutor {
  readonly #parts: ExecutorParts;

  /** Provided by `ActionsModule`, not constructed. */
  constructor(parts: ExecutorParts) {
    this.#parts = parts;
  }

  /**
   * Runs `perform` of an action, and writes what it has staged: on one shard in one transaction with its events. Inside a
   * `tx()` of that shard it is a savepoint of it. Stale rows, deadlocks and moved keys are tried again by the retry policy.
   *
   * @returns what `perform` has returned in the attempt that was committed
   * @throws ShardingError `stale_row`, `cross_shard_transaction`, `cross_tenant`, `no_placement`, `commit_unknown`, and what
   *   `perform` throws
   */
  async execute<Params, Result>(
    target: ActionClass<Params, Result>,
    params: Params,
    options: ExecuteOptions = {},
  ): Promise<Result> {
    const traits = actionTraits(target);
    const action = this.#parts.modules.get<Action<Params, Result>>(target, { strict: false });
    const execution = { action, traits, params, options };
    if (options.key === undefined) return this.#attempts(execution);
    return this.#parts.shards.runFor(options.key, () => this.#attempts(execution));
  }

  async #attempts<Params, Result>(execution: Execution<Params, Result>): Promise<Result> {
    const { traits, options } = execution;
    const retry = traits.retry ? resolveRetry(traits.retry) : this.#parts.settings.retry;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(execution, attempt);
      } catch (error) {
        if (attempt >= retry.attempts || !isPassing(error)) throw error;
        await pause(retryDelay(retry, attempt), undefined, { signal: options.signal });
      }
    }
  }

  async #attempt<Params, Result>(
    { action, traits, params, options }: Execution<Params, Result>,
    attempt: number,
  ): Promise<Result> {
    options.signal?.throwIfAborted();
    const actionId = randomUUID();
    const plan = new ActionPlan();
    const result = await action.perform(params, { plan, actionId, attempt });
    plan.close();
    const { places, shards } = this.#parts;
    const allowed = options.allowCrossShard ?? traits.allowCrossShard;
    const tenants = allowed ? 'any' : traits.tenants;
    const key = await shards.knownKey();
    const placed = await placePlan(plan, { places, shards, actionId, key, tenants });
    assertOneShard(placed, traits.name);
    const [part] = placed.parts;
    if (part) await this.#commit(part, options);
    return result;
  }

  async #commit(part: PlacedPart, { signal }: ExecuteOptions): Promise<void> {
    const limits = { timeoutMs: this.#parts.settings.transactionTimeoutMs, ...(signal && { signal }) };
    const db = await part.shard.primary();
    const written = await db.tx((tx) => writePart(tx, part), limits);
    settleEntities(part.changes, written);
    if (part.events.length > 0) this.#parts.outbox.written(part.shard.name);
  }
}

function assertOneShard({ parts }: PlacedPlan, action: string): void {
  if (parts.length < 2) return;
  const names = parts.map(({ shard }) => `"${shard.name}"`).join(', ');
  throw new ShardingError(
    'cross_shard_transaction',
    `action ${action} has staged changes for shards ${names}: make it several actions, or a saga; or declare it with allowCrossShard: true, which has one transaction for each shard`,
  );
}
