import { ShardingError } from '@app/routing';
import { eventTypeOf } from '../outbox/event-type.decorator.js';
import type { RoutingKey } from '@app/routing';

export type ChangeKind = 'insert' | 'update' | 'delete';

/** One row that is to be written. */
export interface StagedChange {
  readonly kind: ChangeKind;
  readonly entity: object;
}

/** What `plan.emit` takes besides the event. */
export interface EmitOptions {
  /**
   * The entity that the event tells of, staged or not: the event is written on its shard, and delivered after the earlier
   * ones of the same entity. Default: the only staged entity, else the routing key.
   */
  readonly of?: object;
  /** Instead of `of`: written where the key is routed, and in order with the events of this key. */
  readonly key?: RoutingKey;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One event that is to be written. */
export interface StagedEvent extends EmitOptions {
  readonly type: string;
  readonly payload: object;
}

/**
 * What an action wants to change, in its order. Staging writes nothing and opens nothing; values are taken from the
 * entities when `perform` has returned.
 */
export class ActionPlan {
  readonly #changes: StagedChange[] = [];
  readonly #events: StagedEvent[] = [];
  readonly #staged = new Set<object>();
  #closed = false;

  get changes(): readonly StagedChange[] {
    return this.#changes;
  }

  get events(): readonly StagedEvent[] {
    return this.#events;
  }

  /** A new row; what it leaves undefined is the column's default, and is set on the entity after the commit. */
  insert(entity: object): void {
    this.#stage('insert', entity);
  }

  /**
   * All columns of a loaded row that have a value. Needs a `@VersionColumn`: a row that was changed since it was loaded is
   * `stale_row`, and the action runs again by its retry policy.
   */
  update(entity: object): void {
    this.#stage('update', entity);
  }

  /** A loaded row; one that was changed, or is gone, is `stale_row`. */
  delete(entity: object): void {
    this.#stage('delete', entity);
  }

  /** An object of a class with `@EventType`. @throws ShardingError `invalid_options` */
  emit(event: object, options: EmitOptions = {}): void {
    this.#assertOpen();
    const { of, key } = options;
    if (of !== undefined && key !== undefined) {
      throw new ShardingError('invalid_options', 'emit takes either "of" or "key"');
    }
    this.#events.push({ ...options, type: eventTypeOf(event.constructor), payload: event });
  }

  /** Refuses what comes later: `perform` has returned, and its values are being taken. */
  close(): void {
    this.#closed = true;
  }

  #stage(kind: ChangeKind, entity: object): void {
    this.#assertOpen();
    if (this.#staged.has(entity)) throw stagedTwice(entity.constructor.name);
    this.#staged.add(entity);
    this.#changes.push({ kind, entity });
  }

  #assertOpen(): void {
    if (!this.#closed) return;
    throw new ShardingError(
      'invalid_options',
      'the plan is closed: perform has returned; await everything inside of it',
    );
  }
}

export function stagedTwice(entity: string): ShardingError {
  return new ShardingError(
    'invalid_options',
    `a row of ${entity} is staged twice: stage its last state once`,
  );
}
