import { tenantColumnOf } from '../tenant-conditions.js';
import { quoted } from './query.js';
import type { EntityMetadata, ObjectLiteral } from 'typeorm';
import type { NotOwned } from '../../shards/not-owned.js';
import type { OwnedBy, OwnedCondition } from './query.js';

/** What a shard owns without the moving rows that another one gives. */
export function withoutMoving(
  notOwned: readonly NotOwned[],
  ownedBy: OwnedBy | undefined,
): OwnedBy | undefined {
  if (notOwned.length === 0) return ownedBy;
  return (shard, alias, entity) => {
    const conditions = notOwned.flatMap((rows, index) => {
      const key = rows.shard === shard.name ? keyColumn(rows, entity) : undefined;
      return key === undefined ? [] : leftOut(rows, quoted(alias, key), index);
    });
    return allOf([ownedBy?.(shard, alias, entity) ?? [], conditions].flat());
  };
}

function allOf(conditions: readonly OwnedCondition[]): OwnedCondition | undefined {
  if (conditions.length === 0) return undefined;
  return {
    where: conditions.map(({ where }) => `(${where})`).join(' and '),
    parameters: Object.assign({}, ...conditions.map(({ parameters }) => parameters)) as ObjectLiteral,
  };
}

/** Of a table that moves; what a view shows is not known, and goes by its tenant. */
function keyColumn({ tables }: NotOwned, entity: EntityMetadata): string | undefined {
  if (entity.tableType === 'view') {
    return entity.findColumnWithPropertyPath(tenantColumnOf(entity) ?? '')?.databaseName;
  }
  const same = ({ schema, name }: NotOwned['tables'][number]) =>
    name === entity.tableName && (entity.schema === undefined || schema === entity.schema);
  return tables.find(same)?.key;
}

/** A row without a key does not move. Texts are compared byte by byte, whatever the collation of the column is. */
function leftOut(rows: NotOwned, column: string, index: number): OwnedCondition[] {
  const { keys, slots, pinned, keyKind } = rows;
  const name = (what: string) => `scatter_moving_${index}_${what}`;
  const isOneOf = (what: string) => `${column}::text collate "C" = any(cast(:${name(what)} as text[]))`;
  const hashed = `_sharding_slot(${column}::${keyKind === 'integer' ? 'bigint' : 'text'})`;
  const inSlots = `${hashed} = any(cast(:${name('slots')} as int[]))`;
  const apart = pinned.length === 0 ? '' : ` or (${isOneOf('pinned')}) is true`;
  const conditions: OwnedCondition[] = [];
  if (keys.length > 0) {
    conditions.push({ where: `(${isOneOf('keys')}) is not true`, parameters: { [name('keys')]: keys } });
  }
  if (slots.length > 0) {
    conditions.push({
      where: `(${inSlots}) is not true${apart}`,
      parameters: { [name('slots')]: slots, ...(apart !== '' && { [name('pinned')]: pinned }) },
    });
  }
  return conditions;
}
