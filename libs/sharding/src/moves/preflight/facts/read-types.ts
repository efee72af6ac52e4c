import { RELATIONS, relationParameters } from './relations.js';
import type { MoveSession } from '../../move-session.js';
import type { MovedTable } from '../../tables/moved-table.js';

/** A type of the user that a moved table has, or a part of one. */
export interface TypeFacts {
  readonly name: string;
  readonly kind: 'enum' | 'domain' | 'composite type' | 'range';
  /** Labels of an enum, attributes of a row, the base and the checks of a domain; quoted by the server. */
  readonly parts: readonly string[];
}

/** Types by way of elements of arrays, bases of domains, subtypes of ranges, and attributes. */
const USED = `used (oid) as (
    select a.atttypid from relation
      join pg_attribute a on a.attrelid = relation.oid and a.attnum > 0 and not a.attisdropped
    where relation.path = ''
    union
    select part.oid from used join pg_type t on t.oid = used.oid cross join lateral (
      select t.typelem union all select t.typbasetype
      union all select r.rngsubtype from pg_range r where r.rngtypid = t.oid
      union all select r.rngtypid from pg_range r where r.rngmultitypid = t.oid
      union all select a.atttypid from pg_attribute a
        where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped) part (oid)
    where part.oid <> 0)`;

const COLLATED = `case when a.attcollation <> b.typcollation then ' collate ' || a.attcollation::regcollation else '' end`;

export async function readTypes(
  { client }: MoveSession,
  tables: readonly MovedTable[],
): Promise<TypeFacts[]> {
  const { rows } = await client.query<TypeFacts>(
    `with recursive ${RELATIONS}, ${USED}
    select format_type(t.oid, null) as name,
      case t.typtype when 'e' then 'enum' when 'd' then 'domain' when 'c' then 'composite type' else 'range' end as kind,
      case t.typtype
        when 'e' then array(select quote_literal(e.enumlabel) from pg_enum e
          where e.enumtypid = t.oid order by e.enumsortorder)
        when 'd' then array[format_type(t.typbasetype, t.typtypmod)]
          || case when t.typnotnull then '{not null}'::text[] else '{}' end
          || array(select pg_get_constraintdef(k.oid) from pg_constraint k
            where k.contypid = t.oid and k.contype = 'c' order by 1)
        when 'c' then array(select format('%I %s', a.attname, format_type(a.atttypid, a.atttypmod)) || ${COLLATED}
          from pg_attribute a join pg_type b on b.oid = a.atttypid
          where a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped order by a.attnum)
        else array(select format_type(r.rngsubtype, null) || ' ' || r.rngcollation::regcollation
          from pg_range r where r.rngtypid = t.oid) end as parts
    from used join pg_type t on t.oid = used.oid
    where t.typtype in ('e', 'd', 'c', 'r') and t.oid >= 16384
    order by format_type(t.oid, null) collate "C"`,
    relationParameters(tables),
  );
  return rows;
}
