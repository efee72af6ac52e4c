import { shardOfPlace, slotOf } from '@app/routing';
import { tenantColumnOf } from '../tenant-conditions.js';
import { placeOfKey, readAt } from '../tenant-place.js';
import { firstFound } from './first-found.js';
import { placeOfId, shardedIdColumn } from './given-ids.js';
import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import type { Place, RoutingKey, SlotPlace } from '@app/routing';
import type { RepositoryParts, Where } from '../repository-parts.js';
import type { Locate, ReadFrom, TenantPlace } from '../tenant-place.js';
import type { Found } from './first-found.js';

/** Finds one row of the tenant of a place, there. */
export type FindAt<E> = (where: Where<E>, locate: Locate) => Promise<E | null>;

interface TenantRowParts<E extends ObjectLiteral> extends Pick<
  RepositoryParts<E>,
  'entity' | 'shards' | 'locate'
> {
  readonly metadata: EntityMetadata;
  readonly readFrom: ReadFrom;
  readonly find: FindAt<E>;
}

/**
 * The row of an id that leads to it. Where the tenant is known it is that tenant's row, or null.
 *
 * @throws ShardingError `invalid_id`, `unregistered_shard`, `no_placement`
 */
export async function findTenantRow<E extends ObjectLiteral>(
  parts: TenantRowParts<E>,
  id: unknown,
): Promise<E | null> {
  const { shards, locate } = parts;
  const column = shardedIdColumn(parts.entity);
  const place = placeOfId(id as string, column);
  shardOfPlace(shards.topology, place); // it must be there, whoever asks
  const where = { [column.property]: id } as Where<E>;
  if (locate) return ofTenant(parts, { place, where, at: await locate() });
  const key = await shards.knownKey();
  if (key === undefined) return ofAnyone(parts, place, where);
  return ofTenant(parts, { place, where, at: await placeOfKey(shards, key)() });
}

interface OwnRow<E> {
  readonly place: Place;
  readonly where: Where<E>;
  /** Where the tenant is. */
  readonly at: TenantPlace;
}

/** The slot of a tenant's own ids is that of the tenant, whose shard is known. */
async function ofTenant<E extends ObjectLiteral>(
  { shards, find }: TenantRowParts<E>,
  { place, where, at }: OwnRow<E>,
): Promise<E | null> {
  if (at.db) return find(where, () => at);
  if ('slot' in place) return place.slot === slotOf(at.key) ? find(where, () => at) : null;
  const [shard = at.shard] = await shards.shardsOfPlace(place);
  return find(where, () => ({ ...at, shard }));
}

/** Asks wherever the row may be. What is related to it is read as its own tenant's. */
async function ofAnyone<E extends ObjectLiteral>(
  { shards, metadata, readFrom, find }: TenantRowParts<E>,
  place: Place,
  where: Where<E>,
): Promise<E | null> {
  const property = tenantColumnOf(metadata) ?? '';
  const found = await firstFound<E>(await shards.shardsOfPlace(place), {
    ask: (shard) =>
      readAt({ shard }, readFrom, (manager) =>
        manager.findOne<E>(metadata.target as never, { where, loadEagerRelations: false }),
      ),
    isSure: async ({ value, shard }: Found<E>) => {
      const key = keyOf(value[property], place);
      return key !== undefined && (await shards.route(key)) === shard;
    },
  });
  if (!found || metadata.eagerRelations.length === 0) return found?.value ?? null;
  const tenant = found.value[property] as string | number;
  return find(where, () => ({ tenant, key: tenant, shard: found.shard }));
}

/** The routing key of a stored tenant: columns give an integer as a number or as text, whatever it was routed by. */
function keyOf(tenant: unknown, place: Place): RoutingKey | undefined {
  if (!('slot' in place) || (typeof tenant !== 'string' && typeof tenant !== 'number')) return undefined;
  const { slot }: SlotPlace = place;
  const forms: RoutingKey[] = /^-?\d+$/.test(String(tenant)) ? [String(tenant), BigInt(tenant)] : [tenant];
  return forms.find((key) => slotOf(key) === slot);
}
