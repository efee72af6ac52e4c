import { ShardedUuid, ShardingError, slotOf, SlotUuid } from '@app/routing';
import { shardedIdOf } from '../sharded-id.decorator.js';
import type { ObjectLiteral } from 'typeorm';
import type { Place, RoutingKey, ShardedId, ShardIdentifier, SlotPlace } from '@app/routing';
import type { Shard } from '../../shards/shard.js';
import type { EntityClass } from '../sharded-entity.js';
import type { ShardedIdColumn } from '../sharded-id.decorator.js';
import type { Written } from '../tenant-relations.js';

/** What an id of an entity can say of the row that is about to be written. */
export interface IdPlace {
  readonly identifier: ShardIdentifier | undefined;
  readonly slot: SlotPlace | undefined;
}

/** The properties of an entity that are an id of its own. */
type OwnId<E> = { [K in keyof E]-?: E[K] extends ShardedId<E> ? E[K] : never }[keyof E];

/** What finds an entity by its id: the type of its property `id`, or of the one that is a `ShardedId` of it. */
export type IdOf<E> = E extends { readonly id: infer Id }
  ? Id
  : [OwnId<E>] extends [never]
    ? string
    : OwnId<E>;

/** What an id says of a row of a place on a shard. */
export function idPlace(place: Place, shard: Shard): IdPlace {
  return 'member' in place
    ? { identifier: place, slot: undefined }
    : { identifier: shard.identifier, slot: place };
}

/** The place that an id names. @throws ShardingError `invalid_id` */
export function placeOfId(id: string, { kind }: ShardedIdColumn): Place {
  if (kind === 'shard') return ShardedUuid.identifier(id);
  return { group: SlotUuid.group(id), slot: SlotUuid.slot(id) };
}

/** The column of an entity that has one. @throws ShardingError `no_placement` */
export function shardedIdColumn(entity: EntityClass): ShardedIdColumn {
  const column = shardedIdOf(entity);
  if (column) return column;
  throw new ShardingError(
    'no_placement',
    `an id of ${entity.name} does not say where its row is: find it by its tenant, or declare the id with @ShardedId()`,
  );
}

/** Whether an entity has an id. */
export function hasId(entity: ObjectLiteral, { property }: ShardedIdColumn): boolean {
  return entity[property] !== undefined && entity[property] !== null;
}

/** Gives an entity without an id one that names its place. @throws ShardingError `no_placement` */
export function giveId(entity: ObjectLiteral, column: ShardedIdColumn, place: IdPlace): void {
  if (!hasId(entity, column)) entity[column.property] = generate(column, place);
}

/**
 * An id that was made elsewhere must not lie about the place of its row.
 *
 * @throws ShardingError `invalid_id`
 */
export function assertNames(entity: ObjectLiteral, column: ShardedIdColumn, place: IdPlace): void {
  const id = entity[column.property] as string;
  const named = placeOfId(id, column);
  const { slot, identifier } = place;
  const same =
    'member' in named
      ? identifier !== undefined && named.equals(identifier)
      : named.slot === slot?.slot && named.group === slot.group;
  if (same) return;
  throw new ShardingError(
    'invalid_id',
    `the id of a new ${column.entity} names another ${column.kind} than the one that it is written to: leave "${column.property}" out, and it is generated`,
  );
}

/** Rows of a tenant that are about to be written on a shard. */
interface TenantRows {
  readonly written: Iterable<Written>;
  readonly key: RoutingKey;
  readonly shard: Shard;
}

/** Gives rows without an id one that names the tenant's slot, or the shard. */
export function giveIds({ written, key, shard }: TenantRows): void {
  for (const { entity, metadata } of written) {
    const column = shardedIdOf(metadata.target);
    if (column && !hasId(entity, column)) giveId(entity, column, tenantPlace(key, shard));
  }
}

/** @throws ShardingError `invalid_id` for an id of a new row that names another slot, or shard */
export function assertIds({ written, key, shard }: TenantRows): void {
  for (const { entity, metadata } of written) {
    const column = shardedIdOf(metadata.target);
    if (column) assertNames(entity, column, tenantPlace(key, shard));
  }
}

/** The group of a key is that of the shard that it is routed to. */
function tenantPlace(key: RoutingKey, shard: Shard): IdPlace {
  return idPlace({ group: shard.group, slot: slotOf(key) }, shard);
}

function generate({ kind }: ShardedIdColumn, { slot, identifier }: IdPlace): string {
  if (kind === 'slot' && slot) return SlotUuid.generate(slot);
  if (kind === 'shard' && identifier) return ShardedUuid.generate(identifier);
  const remedy =
    kind === 'slot'
      ? "its place is a shard, and no slot: declare @ShardedId({ kind: 'shard' })"
      : 'its shard has no identifier: give it a member of 0 to 63';
  throw new ShardingError('no_placement', `no id can be generated that names the place of a row: ${remedy}`);
}
