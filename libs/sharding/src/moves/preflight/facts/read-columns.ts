import { RELATIONS, relationParameters, type Placed } from './relations.js';
import type { MoveSession } from '../../move-session.js';
import type { MovedTable } from '../../tables/moved-table.js';

export interface ColumnFacts extends Placed {
  readonly name: string;
  readonly type: string;
  /** Null for a type without. */
  readonly collation: string | null;
  readonly nullability: 'null' | 'not null';
  /** `stored`, or `virtual`, with the expression; null for a column with values of its own. */
  readonly generated: string | null;
  readonly identity: 'always' | 'by default' | null;
  /** What a domain is made of; the type itself where it is none. With its modifier: `character varying(20)`. */
  readonly base: string;
  /** As the catalog calls it: `varchar`, and `_varchar` for an array. */
  readonly baseName: string;
  /** Equal texts are the same characters. */
  readonly deterministic: boolean;
}

const BASE = `with recursive base (oid, modifier) as (
    select a.atttypid, a.atttypmod
    union all
    select t.typbasetype, t.typtypmod from base join pg_type t on t.oid = base.oid and t.typtype = 'd')
  select format_type(base.oid, base.modifier) as text, t.typname::text as name
  from base join pg_type t on t.oid = base.oid where t.typtype <> 'd'`;

export async function readColumnFacts(
  { client }: MoveSession,
  tables: readonly MovedTable[],
): Promise<ColumnFacts[]> {
  const { rows } = await client.query<ColumnFacts>(
    `with recursive ${RELATIONS}
    select relation.place, relation.path, a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type,
      nullif(a.attcollation, 0)::regcollation::text as collation,
      case when a.attnotnull then 'not null' else 'null' end as nullability,
      case a.attgenerated when 's' then 'stored ' when 'v' then 'virtual ' end || pg_get_expr(d.adbin, d.adrelid)
        as generated,
      case a.attidentity when 'a' then 'always' when 'd' then 'by default' end as identity,
      base.text as base, base.name as "baseName", coalesce(k.collisdeterministic, true) as deterministic
    from relation join pg_attribute a on a.attrelid = relation.oid and a.attnum > 0 and not a.attisdropped
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      left join pg_collation k on k.oid = a.attcollation
      left join lateral (${BASE}) base on true
    order by relation.place, relation.path, a.attname`,
    relationParameters(tables),
  );
  return rows;
}
