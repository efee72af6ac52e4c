import { IS_OWN_TABLE } from './own-tables.js';
import type pg from 'pg';
import type { Read } from '../look.js';

/** A sequence that makes the ids of a table. */
export interface SequenceFacts {
  readonly name: string;
  readonly table: string;
  readonly column: string;
  /** A number that it has given out, or will. */
  readonly at: bigint;
  readonly increment: bigint;
  readonly least: bigint;
  readonly most: bigint;
}

type Row = Record<'name' | 'table' | 'column' | 'at' | 'increment' | 'least' | 'most', string> & {
  readonly readable: boolean;
};

export const sequenceFacts: Read<SequenceFacts[]> = async (client) => {
  const { rows } = await client.query<Row>(`
    select s.seqrelid::regclass::text as name, t.oid::regclass::text as "table", a.attname::text as "column",
      s.seqstart as at, s.seqincrement as increment, s.seqmin as least, s.seqmax as most,
      has_sequence_privilege(s.seqrelid, 'select') as readable
    from pg_sequence s
      join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.seqrelid
        and d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0 and d.deptype in ('a', 'i')
      join pg_class t on t.oid = d.refobjid join pg_namespace n on n.oid = t.relnamespace
      join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
    where ${IS_OWN_TABLE}
    order by name`);
  const places = await placesOf(
    client,
    rows.filter(({ readable }) => readable).map(({ name }) => name),
  );
  return rows.map(({ name, table, column, at, increment, least, most }) => ({
    name,
    table,
    column,
    at: BigInt(places.get(name) ?? at),
    increment: BigInt(increment),
    least: BigInt(least),
    most: BigInt(most),
  }));
};

/** Where sequences stand, also those that were restarted and not used since. @param names quoted */
async function placesOf(client: pg.Client, names: readonly string[]): Promise<Map<string, string>> {
  if (names.length === 0) return new Map();
  const looks = names.map((name, index) => `select ${index} as index, last_value::text as at from ${name}`);
  const { rows } = await client.query<{ index: number; at: string }>(looks.join(' union all '));
  return new Map(rows.map(({ index, at }) => [names[index] ?? '', at]));
}
