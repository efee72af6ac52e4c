import { ShardingError } from '@app/routing';
import { chain } from '../../shards/maybe-promise.js';
import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import type { Place, ShardingStrategy } from '@app/routing';
import type { MaybePromise } from '../../shards/maybe-promise.js';
import type { PlacedShards } from '../../shards/placed-shards.js';
import type { Shards } from '../../shards/shards.js';
import type { UnregisteredShards } from './unregistered-shards.js';

/** The shards where something may be, the likeliest first; never empty. */
export type Places = PlacedShards;

/** What a strategy says of one entity. */
export interface PlacedAt {
  readonly place: Place;
  readonly shards: Places;
}

export interface PlacementParts {
  readonly metadata: EntityMetadata;
  readonly shards: Shards;
  readonly strategy: ShardingStrategy<never, never>;
  readonly unregistered: UnregisteredShards;
}

/** Asks the strategy of an entity, once for each question, and finds the shards that it means. */
export class Placement {
  readonly metadata: EntityMetadata;
  readonly #parts: PlacementParts;

  constructor(parts: PlacementParts) {
    this.metadata = parts.metadata;
    this.#parts = parts;
  }

  /** Undefined where the strategy does not say it. */
  ofEntity(entity: ObjectLiteral): MaybePromise<PlacedAt | undefined> {
    return chain(this.#parts.strategy.ofEntity(entity as never), (place) => this.#resolved(place));
  }

  /** Undefined where ids do not say it. */
  ofId(id: unknown): MaybePromise<Places | undefined> {
    const { strategy } = this.#parts;
    if (!strategy.routesById) return undefined;
    return chain(strategy.ofId(id as never), (place) => this.#shards(place));
  }

  /** For each alternative of a condition where its rows are; undefined where the strategy does not say it of all. */
  ofQuery(where: unknown): MaybePromise<readonly Places[] | undefined> {
    if (!Array.isArray(where)) return chain(this.#ofCondition(where), (places) => places && [places]);
    const alternatives = where as readonly unknown[];
    return Promise.all(alternatives.map(async (one) => this.#ofCondition(one))).then(complete);
  }

  /** A condition that names an id is answered by the id. */
  #ofCondition(where: unknown): MaybePromise<Places | undefined> {
    const { strategy } = this.#parts;
    const id = strategy.routesById ? this.idIn(where) : undefined;
    if (id !== undefined) return this.ofId(id);
    return chain(strategy.ofQuery?.(where ?? {}), (place) => this.#shards(place));
  }

  /** The only id column's value, where a condition compares it with one. */
  idIn(where: unknown): unknown {
    const [column, ...others] = this.metadata.primaryColumns;
    if (typeof where !== 'object' || where === null || !column || others.length > 0) return undefined;
    const id = (where as ObjectLiteral)[column.propertyName] as unknown;
    return typeof id === 'object' || typeof id === 'function' ? undefined : id;
  }

  #shards(place: Place | undefined): MaybePromise<Places | undefined> {
    return chain(this.#resolved(place), (found) => found?.shards);
  }

  #resolved(place: Place | null | undefined): MaybePromise<PlacedAt | undefined> {
    if (place === undefined || place === null) return undefined;
    const { shards, unregistered } = this.#parts;
    if (!isPlace(place)) throw noPlace(this.metadata.name);
    const found = shards.shardsOfPlace(place, unregistered.options);
    return chain(found, (all) => ({ place, shards: all }));
  }
}

function complete(all: readonly (Places | undefined)[]): readonly Places[] | undefined {
  const known = all.flatMap((one) => (one ? [one] : []));
  return known.length > 0 && known.length === all.length ? known : undefined;
}

function isPlace(place: unknown): boolean {
  return typeof place === 'object' && place !== null && ('member' in place || 'slot' in place);
}

/** The answer is not echoed: it may be of a row. */
function noPlace(entity: string): ShardingError {
  return new ShardingError(
    'no_placement',
    `the strategy of ${entity} answered with what is no place: answer with a ShardIdentifier, { group, slot } or undefined`,
  );
}

/** @param remedy what to pass instead */
export function noPlacement(entity: string, remedy: string): ShardingError {
  return new ShardingError('no_placement', `the strategy of ${entity} does not say where ${remedy}`);
}
