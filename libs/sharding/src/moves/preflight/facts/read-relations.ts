import { RELATIONS, relationParameters, type Placed } from './relations.js';
import type { MoveSession } from '../../move-session.js';
import type { MovedTable } from '../../tables/moved-table.js';

/** A moved table, or a partition of one. */
export interface RelationFacts extends Placed {
  readonly kind: 'table' | 'partitioned table' | 'view' | 'foreign table';
  readonly unlogged: boolean;
  /** Empty for a table without partitions. */
  readonly partitionKey: string;
  /** As the planner guesses. */
  readonly rows: number;
  /** With indexes and long values. */
  readonly bytes: number;
  /** This role does not see all rows. */
  readonly hidden: boolean;
  /** Of `select`, `insert`, `delete` and `usage` (of the schema) those that this role has not. */
  readonly lacking: readonly string[];
  /** This role may do what the owner may. */
  readonly owned: boolean;
  /** Tables that this one inherits from, or that inherit from it, and are no partitions. */
  readonly relatives: readonly string[];
}

export async function readRelations(
  { client }: MoveSession,
  tables: readonly MovedTable[],
): Promise<RelationFacts[]> {
  const { rows } = await client.query<RelationFacts>(
    `with recursive ${RELATIONS}
    select relation.place, relation.path,
      case c.relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'f' then 'foreign table' else 'view' end
        as kind,
      c.relpersistence = 'u' as unlogged, coalesce(pg_get_partkeydef(c.oid), '') as "partitionKey",
      greatest(c.reltuples, 0)::float8 as rows,
      case when c.relkind = 'r' then pg_total_relation_size(c.oid) else 0 end::float8 as bytes,
      row_security_active(c.oid) as hidden,
      array(select name from unnest(array['select', 'insert', 'delete']) name where not has_table_privilege(c.oid, name))
        || case when has_schema_privilege(c.relnamespace, 'usage') then '{}' else '{usage}'::text[] end as lacking,
      pg_has_role(c.relowner, 'usage') as owned,
      array(select other.oid::regclass::text from pg_inherits i join pg_class other
          on other.oid = case c.oid when i.inhparent then i.inhrelid else i.inhparent end
        where c.oid in (i.inhparent, i.inhrelid) and not c.relispartition and not other.relispartition
        order by 1) as relatives
    from relation join pg_class c on c.oid = relation.oid
    order by relation.place, relation.path`,
    relationParameters(tables),
  );
  return rows;
}
