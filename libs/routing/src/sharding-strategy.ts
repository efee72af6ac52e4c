import { askGroup, type GroupOf } from './group-of.js';
import type { MaybePromise } from './maybe-promise.js';
import type { Place, SlotPlace } from './place.js';
import { isBytes, type RoutingKey } from './routing-key.js';
import { ShardIdentifier } from './shard-identifier.js';
import { ShardedUuid } from './sharded-uuid.js';
import { SlotUuid } from './slot-uuid.js';
import { slotOf } from './slot.js';

/**
 * Says where the rows of one entity live. Implement it for a rule of your own: by a column, a time window, a look-up.
 * Asked once for each operation, before any transaction. `undefined` means that what is given does not say it; it
 * never means a default shard.
 *
 * ```ts
 * class CountryStrategy implements ShardingStrategy<Customer> {
 *   readonly routesById = false;
 *   ofEntity({ country }: Customer) {
 *     return ShardIdentifier.of(country === 'MX' ? 1 : 0, 0);
 *   }
 *   ofId() {
 *     return undefined;
 *   }
 * }
 * ```
 */
export interface ShardingStrategy<E, Id = string> {
  /** Whether an id alone says where its row lives; where it does not, `ofId` answers `undefined`. */
  readonly routesById: boolean;
  /** The place of an entity that is about to be stored, or was loaded. */
  ofEntity(entity: E): MaybePromise<Place | undefined>;
  /** The place of the row with that id. */
  ofId(id: Id): MaybePromise<Place | undefined>;
  /** The place of all rows that meet the condition, a TypeORM `where`, if it names one place. */
  ofQuery?(where: unknown): MaybePromise<Place | undefined>;
}

/** For the entities of an application with one shard: everything lives at (0,0). */
export class NoShardingStrategy implements ShardingStrategy<unknown, unknown> {
  readonly routesById = true;

  ofEntity(): Place {
    return ShardIdentifier.DEFAULT;
  }

  ofId(): Place {
    return ShardIdentifier.DEFAULT;
  }

  ofQuery(): Place {
    return ShardIdentifier.DEFAULT;
  }
}

/** Where an entity keeps the id that says where it lives. */
export interface IdStrategyOptions<E> {
  /** The property of the id, `id` by default. */
  readonly id?: keyof E & string;
}

/**
 * For entities whose id is a `ShardedUuid`: its bits name the shard. Declare it only where every id is one: the bits of any
 * other UUID of version 7 would be taken for a shard. Other ids are `invalid_id`. An entity without id yet has no place.
 */
export class EmbeddedBitsStrategy<E extends object = object> implements ShardingStrategy<E> {
  readonly routesById = true;
  readonly #id: string;

  constructor(options: IdStrategyOptions<E> = {}) {
    this.#id = options.id ?? 'id';
  }

  /** @throws ShardingError `invalid_id` */
  ofEntity(entity: E): ShardIdentifier | undefined {
    const id = valueOf(entity, this.#id);
    return id === undefined ? undefined : this.ofId(id as string);
  }

  /** @throws ShardingError `invalid_id` */
  ofId(id: string): ShardIdentifier {
    return ShardedUuid.identifier(id);
  }

  /** Answers where the condition names one id. @throws ShardingError `invalid_id` */
  ofQuery(where: unknown): ShardIdentifier | undefined {
    const id = valueInQuery(where, this.#id);
    return typeof id === 'string' ? this.ofId(id) : undefined;
  }
}

/** Where an entity keeps the key whose slot it lives in. */
export interface KeyStrategyOptions<E> {
  /** The property of the routing key; ids then say nothing. */
  readonly key: keyof E & string;
  /** The group of a key; 0 where it is absent or does not say. */
  readonly groupOf?: GroupOf;
}

/**
 * For entities that live in a slot: named by an id that is a `SlotUuid`, or, with `key`, that of a routing key which is
 * one of their properties. Other ids are `invalid_id`. An entity without id, or without key, has no place.
 */
export class SlotStrategy<E extends object = object> implements ShardingStrategy<E> {
  /** `false` with `key`. */
  readonly routesById: boolean;
  readonly #property: string;
  readonly #groupOf: GroupOf | undefined;

  constructor(options: IdStrategyOptions<E> | KeyStrategyOptions<E> = {}) {
    const byKey = 'key' in options;
    this.routesById = !byKey;
    this.#property = byKey ? options.key : (options.id ?? 'id');
    this.#groupOf = byKey ? options.groupOf : undefined;
  }

  /** @throws ShardingError `invalid_id`, or with `key` `invalid_routing_key` and what `groupOf` is refused for */
  ofEntity(entity: E): SlotPlace | undefined {
    const value = valueOf(entity, this.#property);
    if (value === undefined) return undefined;
    return this.routesById ? this.ofId(value as string) : this.#ofKey(value as RoutingKey);
  }

  /** @throws ShardingError `invalid_id`; with `key` it answers `undefined` */
  ofId(id: string): SlotPlace | undefined {
    return this.routesById ? { group: SlotUuid.group(id), slot: SlotUuid.slot(id) } : undefined;
  }

  /** Answers where the condition names one id, or one key. @throws ShardingError as {@link ofEntity} */
  ofQuery(where: unknown): SlotPlace | undefined {
    const value = valueInQuery(where, this.#property);
    if (this.routesById) return typeof value === 'string' ? this.ofId(value) : undefined;
    return isKeyLike(value) ? this.#ofKey(value) : undefined;
  }

  #ofKey(key: RoutingKey): SlotPlace {
    const slot = slotOf(key);
    return { group: (this.#groupOf && askGroup(this.#groupOf, key)) ?? 0, slot, key };
  }
}

/** The value of a property, `undefined` for `null`. */
function valueOf(entity: object, property: string): unknown {
  return (entity as Readonly<Record<string, unknown>>)[property] ?? undefined;
}

/** The value that a condition asks of a property; of alternatives (an array) there is none. */
function valueInQuery(where: unknown, property: string): unknown {
  if (typeof where !== 'object' || where === null || !Object.hasOwn(where, property)) return undefined;
  return valueOf(where, property);
}

/** Whether it is a value, and not an operator of a query. */
function isKeyLike(value: unknown): value is RoutingKey {
  return ['string', 'number', 'bigint'].includes(typeof value) || isBytes(value);
}
