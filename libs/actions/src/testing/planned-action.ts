import { deepStrictEqual } from 'node:assert';
import { eventTypeOf } from '../outbox/event-type.decorator.js';
import type { EventClass } from '../outbox/event-type.decorator.js';
import type { ActionPlan, StagedChange } from '../plan/action-plan.js';
import type { PlacedPlan } from '../plan/placed-plan.js';

/** What an action would write. Each `expect` throws an `AssertionError` where it is not so. */
export class PlannedAction<Result> {
  readonly #placed: PlacedPlan;
  readonly #plan: ActionPlan;

  /** Made by `planOf`. */
  constructor(
    readonly result: Result,
    plan: ActionPlan,
    placed: PlacedPlan,
  ) {
    this.#plan = plan;
    this.#placed = placed;
  }

  /** In the order in which they were staged. */
  get changes(): readonly StagedChange[] {
    return this.#plan.changes;
  }

  /** Names of the shards, in the order in which they would be written. */
  get shards(): string[] {
    return this.#placed.parts.map(({ shard }) => shard.name);
  }

  /** The events as objects, in the order in which they were emitted. */
  get events(): object[] {
    return this.#plan.events.map(({ payload }) => payload);
  }

  /** Everything is on one shard, perhaps on that one. */
  expectSingleShard(name?: string): this {
    const expected = name ?? this.shards[0] ?? 'one shard';
    deepStrictEqual(this.shards, [expected], 'the action would write on other shards than one');
    return this;
  }

  /** Exactly these, in the order of group and member. */
  expectShards(...names: string[]): this {
    deepStrictEqual(this.shards, names, 'the action would write on other shards');
    return this;
  }

  /** Exactly events of these classes, in this order. */
  expectEvents(...classes: EventClass[]): this {
    const types = this.#plan.events.map(({ type }) => type);
    deepStrictEqual(types, classes.map(eventTypeOf), 'the action would emit other events');
    return this;
  }
}
