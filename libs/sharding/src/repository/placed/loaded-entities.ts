import { ShardingError } from '@app/routing';
import type { Shard } from '../../shards/shard.js';

/** The shard that each entity was loaded from, or stored on, as long as the entity itself is kept. */
export class LoadedEntities {
  readonly #shards = new WeakMap<object, Shard>();

  constructor(private readonly entity: string) {}

  note(entities: Iterable<object>, shard: Shard): void {
    for (const entity of entities) this.#shards.set(entity, shard);
  }

  shardOf(entity: object): Shard | undefined {
    return this.#shards.get(entity);
  }

  /**
   * Where a loaded entity is saved: on its shard. Undefined for one that was not loaded.
   *
   * @param places the shards that its values name now
   * @throws ShardingError `placement_changed`
   */
  assertStays(entity: object, places: readonly Shard[]): Shard | undefined {
    const shard = this.#shards.get(entity);
    if (!shard || places.includes(shard)) return shard;
    throw new ShardingError(
      'placement_changed',
      `${this.entity} was loaded from shard "${shard.name}", and its values name ${named(places)} now: restore them, or insert it there and delete it here`,
    );
  }
}

/** `shard "a"`, or `shards "a", "b"`. */
export function named(shards: readonly Shard[]): string {
  const names = shards.map(({ name }) => `"${name}"`).join(', ');
  return shards.length === 1 ? `shard ${names}` : `shards ${names}`;
}
