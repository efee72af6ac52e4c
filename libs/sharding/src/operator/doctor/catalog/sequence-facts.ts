import { IS_OWN_TABLE } from './own-tables.js';
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

type Row = Record<'name' | 'table' | 'column' | 'at' | 'increment' | 'least' | 'most', string>;

export const sequenceFacts: Read<SequenceFacts[]> = async (client) => {
  const { rows } = await client.query<Row>(`
    select s.seqrelid::regclass::text as name, t.oid::regclass::text as "table", a.attname::text as "column",
      coalesce(case when has_sequence_privilege(s.seqrelid, 'select, usage') then pg_sequence_last_value(s.seqrelid) end,
        s.seqstart) as at, s.seqincrement as increment, s.seqmin as least, s.seqmax as most
    from pg_sequence s
      join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.seqrelid
        and d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0 and d.deptype in ('a', 'i')
      join pg_class t on t.oid = d.refobjid join pg_namespace n on n.oid = t.relnamespace
      join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
    where ${IS_OWN_TABLE}
    order by name`);
  return rows.map(({ name, table, column, ...numbers }) => ({
    name,
    table,
    column,
    at: BigInt(numbers.at),
    increment: BigInt(numbers.increment),
    least: BigInt(numbers.least),
    most: BigInt(numbers.most),
  }));
};
