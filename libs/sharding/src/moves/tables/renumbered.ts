import { ShardingError } from '@app/routing';
import { isKeyScoped } from './key-scoped-tables.js';
import { tableName, type MovedTable } from './moved-table.js';
import type { MoveSession } from '../move-session.js';

/** What the catalog has of the id of a table. */
interface IdFacts {
  readonly schema: string;
  readonly name: string;
  /** The one column of the primary key, or of the key that is asked for, that a sequence fills; null without one. */
  readonly id: string | null;
  /** Tables whose foreign keys refer to this one. */
  readonly referring: readonly string[];
}

const IDS = `
  select n.nspname as schema, c.relname as name,
    (select a.attname from pg_index i join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
      left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      where i.indrelid = c.oid and i.indnkeyatts = 1 and i.indisunique and i.indisvalid and i.indpred is null and a.attnotnull
        and case when $3::text is null then i.indisprimary else a.attname = $3 end
        and (a.attidentity <> '' or pg_get_expr(d.adbin, d.adrelid) like 'nextval(%') limit 1) as id,
    array(select distinct format('%s.%s', rn.nspname, r.relname) from pg_constraint k
      join pg_class r on r.oid = k.conrelid join pg_namespace rn on rn.oid = r.relnamespace
      where k.contype = 'f' and k.confrelid = c.oid order by 1) as referring
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where (n.nspname, c.relname) in (select * from unnest($1::text[], $2::text[]))`;

/**
 * The tables such that the destination numbers their rows anew: their id is neither copied nor part of the proof. Those of the
 * framework keep theirs.
 *
 * @param destination whose sequences will do it
 * @param idColumn default: that of the primary key
 * @throws ShardingError `move_refused` where an id is referred to, or nothing would number it
 */
export async function renumbered(
  destination: MoveSession,
  tables: readonly MovedTable[],
  idColumn?: string,
): Promise<MovedTable[]> {
  const { rows } = await destination.client.query<IdFacts>(IDS, [
    tables.map(({ schema }) => schema),
    tables.map(({ name }) => name),
    idColumn ?? null,
  ]);
  const facts = tables.map((table) =>
    isKeyScoped(table) ? undefined : rows.find((row) => tableName(row) === tableName(table)),
  );
  const problems = facts.flatMap((found) => (found ? problemsOf(found, idColumn) : [])); // a missing table is told by preflight
  if (problems.length > 0) {
    throw new ShardingError('move_refused', `rows cannot be numbered anew: ${problems.join('; ')}`);
  }
  return tables.map((table, at) => ({ ...table, renumbered: facts[at]?.id ?? null }));
}

function problemsOf({ id, referring, ...table }: IdFacts, idColumn?: string): string[] {
  const name = tableName(table);
  const what = idColumn === undefined ? 'the primary key' : `a unique ${JSON.stringify(idColumn)}`;
  if (id === null) return [`no sequence fills ${what} of ${name}`];
  return referring.length > 0 ? [`${referring.join(', ')} refers to ${name}`] : [];
}
