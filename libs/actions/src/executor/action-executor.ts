import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { ShardingError } from '@app/routing';
import { insideTransaction } from '@app/sharding';
import { actionTraits } from '../action/action.decorator.js';
import { AlreadyApplied, writeContent } from '../cross/apply-part.js';
import { runCrossShard } from '../cross/cross-shard-run.js';
import { list } from '../cross/partial-commit.js';
import { giveUp } from '../ledger/give-up.js';
import { ledgerPlace } from '../ledger/idempotency.js';
import { storedResult } from '../ledger/stored-result.js';
import { ActionPlan } from '../plan/action-plan.js';
import { placePlan } from '../plan/place-plan.js';
import { readyParts } from './part-contents.js';
import { isPassing, resolveRetry, retryDelay } from './retry-policy.js';
import { settleEntities } from './settle-entities.js';
import type { ModuleRef } from '@nestjs/core';
import type { RoutingKey } from '@app/routing';
import type { EntityPlaces, Shards } from '@app/sharding';
import type { Action, ActionClass, ActionTraits } from '../action/action.decorator.js';
import type { ActionDatabases } from '../cross/action-databases.js';
import type { ExecutionEnd } from '../ledger/give-up.js';
import type { LedgerPlace } from '../ledger/idempotency.js';
import type { Actions } from '../operator/actions.js';
import type { OutboxSignal } from '../outbox/outbox-signal.js';
import type { ActionSettings } from './action-settings.js';
import type { ExecuteOptions } from './execute-options.js';
import type { ReadyPart } from './part-contents.js';

/** What an executor works with. */
export interface ExecutorParts {
  readonly modules: ModuleRef;
  readonly shards: Shards;
  readonly places: EntityPlaces;
  readonly outbox: OutboxSignal;
  readonly databases: ActionDatabases;
  readonly actions: Actions;
  readonly settings: ActionSettings;
}

/** An action that is being executed. */
interface Execution<Params, Result> {
  readonly action: Action<Params, Result>;
  readonly traits: ActionTraits;
  readonly params: Params;
  readonly options: ExecuteOptions;
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
   * `tx()` of that shard it is a savepoint of it. Stale rows, deadlocks and moved keys are tried again by the retry policy,
   * as long as nothing is committed.
   *
   * @returns what `perform` has returned in the attempt that was committed
   * @throws ShardingError `stale_row`, `cross_shard_transaction`, `cross_tenant`, `no_placement`, `commit_unknown`,
   *   `idempotency_mismatch`; {@link PartialCommit}; what `perform` throws
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

  /**
   * Decides that an execution with an idempotency key is not done, unless it was: whichever is committed first holds, and
   * the same execution is `action_refused` from then on.
   *
   * @returns the result where it was done
   * @throws ShardingError `invalid_options` without an idempotency key or a home; `deadline_exceeded`; `shard_unavailable`
   */
  async giveUp(
    target: ActionClass<never>,
    options: Pick<ExecuteOptions, 'key' | 'home' | 'idempotencyKey'>,
  ): Promise<ExecutionEnd> {
    const { shards, settings } = this.#parts;
    const action = actionTraits(target).name;
    const place = await ledgerPlace({ action, params: undefined, options, key: options.key }, shards);
    if (!place)
      throw new ShardingError('invalid_options', 'giveUp needs the idempotency key of an execution');
    return giveUp(place, action, settings.transactionTimeoutMs);
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

  async #attempt<Params, Result>(execution: Execution<Params, Result>, attempt: number): Promise<Result> {
    const { action, traits, params, options } = execution;
    options.signal?.throwIfAborted();
    const key = await this.#parts.shards.knownKey();
    const place = await ledgerPlace({ action: traits.name, params, options, key }, this.#parts.shards);
    const stored = async () => place && storedResult(place, traits.name, this.#parts);
    const known = await stored();
    if (known) return known.value as Result;
    const runId = randomUUID();
    const plan = new ActionPlan();
    const result = await action.perform(params, { plan, actionId: runId, attempt });
    plan.close();
    try {
      await this.#write(execution, { plan, key, place, runId, result });
      return result;
    } catch (error) {
      const other = error instanceof AlreadyApplied ? await stored() : undefined;
      if (!other) throw error;
      return other.value as Result;
    }
  }

  async #write(
    { traits, options }: Pick<Execution<unknown, unknown>, 'traits' | 'options'>,
    { plan, key, place, runId, result }: Performed,
  ): Promise<void> {
    const { places, shards } = this.#parts;
    const allowed = options.allowCrossShard ?? traits.allowCrossShard;
    const tenants = allowed ? 'any' : traits.tenants;
    const placed = await placePlan(plan, { places, shards, actionId: runId, key, tenants });
    const parts = readyParts(placed, place, { action: traits.name, runId, result });
    const [only, ...others] = parts;
    if (!only) return;
    if (others.length === 0) return this.#writeOne(only, options);
    if (!allowed) throw crossShard(parts, traits.name);
    await this.#writeAll(parts, { actionId: runId, action: traits.name });
  }

  async #writeOne({ shard, content, changes }: ReadyPart, { signal }: ExecuteOptions): Promise<void> {
    const { oneShardTimeoutMs: timeoutMs } = this.#parts.settings;
    const limits = { ...(timeoutMs !== undefined && { timeoutMs }), ...(signal && { signal }) };
    const db = await shard.primary();
    const written = await db.tx((tx) => writeContent(tx, content), limits);
    settleEntities(changes, written);
    if (content.events.length > 0) this.#parts.outbox.written(shard.name);
  }

  async #writeAll(
    parts: readonly ReadyPart[],
    named: { readonly actionId: string; readonly action: string },
  ): Promise<void> {
    if (insideTransaction()) throw crossShard(parts, named.action);
    const { databases, settings: limits, outbox } = this.#parts;
    const shards = parts.map(({ shard }) => shard.name);
    const contents = parts.map(({ content }) => content);
    await runCrossShard(
      { ...named, shards, contents },
      {
        databases,
        limits,
        before: (part) => this.#assertRouted(parts[part]),
        applied: (part, written) => {
          const { changes = [], content, shard } = parts[part] ?? {};
          settleEntities(changes, written);
          if (content && shard && content.events.length > 0) outbox.written(shard.name);
        },
      },
    );
  }

  /** A stored part belongs to its shard, and does not follow a key that has moved. */
  async #assertRouted(part: ReadyPart | undefined): Promise<void> {
    for (const key of part?.keys ?? []) {
      if ((await this.#parts.shards.shardFor(key)) === part?.shard) continue;
      throw new ShardingError(
        'shard_moved',
        `a key of the rows that are stored for shard "${part?.shard.name}" lives on another one now`,
      );
    }
  }
}

/** What an attempt is about to write. */
interface Performed {
  readonly plan: ActionPlan;
  readonly key: RoutingKey | undefined;
  readonly place: LedgerPlace | undefined;
  readonly runId: string;
  readonly result: unknown;
}

function crossShard(parts: readonly ReadyPart[], action: string): ShardingError {
  const names = list(parts.map(({ shard }) => shard.name));
  const remedy = insideTransaction()
    ? 'it cannot be part of a transaction: execute it outside of tx()'
    : 'make it several actions, or a saga; or declare it with allowCrossShard: true, which has one transaction for each shard';
  return new ShardingError(
    'cross_shard_transaction',
    `action ${action} has staged changes for shards ${names}: ${remedy}`,
  );
}
