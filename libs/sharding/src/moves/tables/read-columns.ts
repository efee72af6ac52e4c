import type { MoveSession } from '../move-session.js';
import type { MovedColumn } from './moved-table.js';

/** A column with the table it is of. */
export interface ReadColumn extends MovedColumn {
  readonly oid: string;
  /** Its binary form is the same in every database. */
  readonly portable: boolean;
}

/**
 * Columns by name. The binary form of an array or a row names types by numbers, which only those of PostgreSQL itself
 * have in common (below 10,000); `reg...` values are numbers of objects.
 */
export async function readColumns({ client }: MoveSession, oids: readonly string[]): Promise<ReadColumn[]> {
  const { rows } = await client.query<ReadColumn>(
    `select a.attrelid::text as oid, a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type,
      a.attgenerated <> '' as generated,
      t.oid::int8 < 10000 and t.typelem::int8 < 10000 and t.typsend <> 0 and t.typreceive <> 0
        and t.typname not like 'reg%' and t.typname not like '\\_reg%' as portable
    from pg_attribute a join pg_type t on t.oid = a.atttypid
    where a.attrelid = any ($1::oid[]) and a.attnum > 0 and not a.attisdropped
    order by a.attrelid, a.attname`,
    [oids],
  );
  return rows;
}
