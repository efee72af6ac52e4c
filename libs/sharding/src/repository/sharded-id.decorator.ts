import { Column } from 'typeorm';
import type { ColumnOptions } from 'typeorm';
import type { ShardedId as RoutedId } from '@app/routing';

/**
 * What an id names: `slot`, a `SlotUuid`, stays true wherever the slot's rows are moved; `shard`, a `ShardedUuid`, ties
 * its row to one shard for ever.
 */
export type ShardedIdKind = 'slot' | 'shard';

/** What `@ShardedId` takes: the kind, `slot` by default, and TypeORM's options of the column. */
export interface ShardedIdOptions extends Omit<ColumnOptions, 'array' | 'generated' | 'transformer'> {
  readonly kind?: ShardedIdKind;
}

/** The property that holds the id of an entity. */
export interface ShardedIdColumn {
  /** Name of the class that declares it. */
  readonly entity: string;
  readonly property: string;
  readonly kind: ShardedIdKind;
}

/** The id of an entity: text that leads to its row, and does not compile where the id of another entity is asked. */
export type ShardedId<Entity = unknown> = RoutedId<Entity>;

const COLUMN = Symbol.for('nestjs-sharding.sharded-id');

/**
 * The id that says by itself where its row is: a `uuid` primary column that is generated on insert, for the tenant's slot
 * or the shard that the row is written to, and never changes. `repository.findById(id)` goes there, also where no tenant is known.
 *
 * An id that is given is kept, and must name the place that its row is written to: else it is `invalid_id`.
 *
 * @example \@ShardedId() id!: ShardedId<Wallet>;
 */
export function ShardedId({ kind = 'slot', ...column }: ShardedIdOptions = {}): PropertyDecorator {
  return (target, property) => {
    Column({ type: 'uuid', primary: true, update: false, ...column })(target, property);
    const declared = { entity: target.constructor.name, property: String(property), kind };
    const value: ShardedIdColumn = Object.freeze(declared);
    Object.defineProperty(target, COLUMN, { value, configurable: true });
  };
}

/** What `@ShardedId` said about an entity class, or about one that it extends. */
export function shardedIdOf(target: unknown): ShardedIdColumn | undefined {
  if (typeof target !== 'function') return undefined;
  return (target.prototype as { readonly [COLUMN]?: ShardedIdColumn } | undefined)?.[COLUMN];
}
