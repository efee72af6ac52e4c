import { ShardingError } from '@app/routing';
import { unsupported } from './catalog.js';
import { canonicalJson } from './canonical-json.js';
import { bindingOf } from './cursor.js';
import { assertWhole } from './fan-out-options.js';
import { assertWhere } from './where-check.js';
import type { FindManyOptions, ObjectLiteral } from 'typeorm';
import type { PlacedShard } from './gather.js';
import type { LoadedFrom, OwnedBy, QueryParts } from './query.js';
import type { RowsRequest } from './rows.js';
import type { ScatterCountOptions, ScatterFindOptions } from './cross-shard-repository.js';
import type { EntityClass } from '../sharded-entity.js';

/** Behind so many rows every page would read them again on every shard. */
const MAX_SKIP = 10_000;

const SHAPE = [
  'select',
  'relations',
  'relationLoadStrategy',
  'loadEagerRelations',
  'loadRelationIds',
  'withDeleted',
] as const;

/** Options of one database that would be lost silently. */
const REFUSED = ['lock', 'cache', 'transaction', 'comment', 'join'] as const;

/** What is the same for all requests of one scatter. */
export interface Scattered<E extends ObjectLiteral> {
  readonly entity: EntityClass<E>;
  readonly ownedBy: OwnedBy | undefined;
  readonly loaded?: LoadedFrom | undefined;
}

/** @throws ShardingError `invalid_options` */
export function rowsRequest<E extends ObjectLiteral>(
  { entity, ownedBy, loaded }: Scattered<E>,
  options: ScatterFindOptions<E>,
): RowsRequest<E> {
  if ('where' in options) assertWhere(options.where);
  const refused = REFUSED.find((name) => name in options);
  if (refused !== undefined) throw invalid(`the option ${refused} does not exist across shards`);
  const shape = Object.fromEntries(
    SHAPE.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  ) as FindManyOptions<E>;
  const { where, withDeleted, order } = options;
  return { entity, ownedBy, loaded, where, withDeleted, order, shape };
}

/** What is counted or aggregated. @throws ShardingError `invalid_options` */
export function countRequest<E extends ObjectLiteral>(
  { entity, ownedBy }: Scattered<E>,
  options: ScatterCountOptions<E>,
): QueryParts<E> {
  if ('where' in options) assertWhere(options.where);
  const { where, withDeleted } = options;
  return { entity, ownedBy, where, withDeleted };
}

/** @throws ShardingError `invalid_options`; `cross_shard_unsupported` for a deep `skip`, which explains cursors */
export function windowOf({ skip = 0, take }: { readonly skip?: number; readonly take?: number }) {
  if (take !== undefined) assertWhole('take', take, { least: 0 });
  assertWhole('skip', skip, { least: 0 });
  if (skip > MAX_SKIP) {
    throw unsupported(
      `skip is at most ${MAX_SKIP}: each shard would read and send all rows before it. Walk with page({ order, take }) and hand its \`next\` to the following call as \`after\`, which costs the same on every page`,
    );
  }
  return { skip, take };
}

/** What the cursors of a walk are valid for: entity, rows, order and shards. */
export function cursorBinding<E extends ObjectLiteral>(
  { entity, where, withDeleted = false, order }: RowsRequest<E>,
  shards: readonly PlacedShard[],
): string {
  return bindingOf([
    (entity as EntityClass).name,
    canonicalJson(where ?? {}),
    String(withDeleted),
    canonicalJson(order ?? {}, 'as given'),
    ...shards.map(({ shard }) => shard.name),
  ]);
}

function invalid(message: string): ShardingError {
  return new ShardingError('invalid_options', message);
}
