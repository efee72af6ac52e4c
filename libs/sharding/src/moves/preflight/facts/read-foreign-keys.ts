import { RELATIONS, relationParameters } from './relations.js';
import type { MoveSession } from '../../move-session.js';
import type { MovedTable } from '../../tables/moved-table.js';

/** A foreign key that begins, or ends, at a moved table. */
export interface ForeignKeyFacts {
  /** The index of the moved table; null for another table. */
  readonly from: number | null;
  readonly to: number | null;
  readonly fromTable: string;
  readonly toTable: string;
  /** Quoted by the server, for statements. */
  readonly toQuoted: string;
  readonly columns: readonly string[];
  readonly referenced: readonly string[];
  readonly referencedTypes: readonly string[];
  /** The referenced table has a column of the name of the key. */
  readonly toHasKey: boolean;
  /** It can wait for the commit, when rows arrive and when they go. */
  readonly deferrable: boolean;
  /** Otherwise nobody checks it. */
  readonly enforced: boolean;
}

const NAMES = (numbers: string, table: string, what: string) => `array(select ${what}
    from unnest(${numbers}) with ordinality k (attnum, place)
      join pg_attribute a on a.attrelid = ${table} and a.attnum = k.attnum order by k.place)`;

/** One of a partition is one of its root. */
export async function readForeignKeys(
  { client }: MoveSession,
  tables: readonly MovedTable[],
): Promise<ForeignKeyFacts[]> {
  const { rows } = await client.query<ForeignKeyFacts>(
    `with recursive ${RELATIONS}
    select "from".place as "from", "to".place as "to", format('%s.%s', fn.nspname, f.relname) as "fromTable",
      format('%s.%s', tn.nspname, t.relname) as "toTable", format('%I.%I', tn.nspname, t.relname) as "toQuoted",
      ${NAMES('c.conkey', 'c.conrelid', 'a.attname::text')} as columns,
      ${NAMES('c.confkey', 'c.confrelid', 'a.attname::text')} as referenced,
      ${NAMES('c.confkey', 'c.confrelid', 'format_type(a.atttypid, a.atttypmod)')} as "referencedTypes",
      exists (select from pg_attribute a where a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
        and a.attname::text = ($3::text[])["from".place + 1] collate "C") as "toHasKey",
      c.condeferrable and c.confdeltype <> 'r' as deferrable,
      coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true) as enforced
    from pg_constraint c
      left join relation "from" on "from".oid = c.conrelid left join relation "to" on "to".oid = c.confrelid
      join pg_class f on f.oid = coalesce(pg_partition_root(c.conrelid), c.conrelid)
      join pg_namespace fn on fn.oid = f.relnamespace
      join pg_class t on t.oid = coalesce(pg_partition_root(c.confrelid), c.confrelid)
      join pg_namespace tn on tn.oid = t.relnamespace
    where c.contype = 'f' and c.conparentid = 0 and ("from".oid is not null or "to".oid is not null)
    order by fn.nspname, f.relname, c.conname`,
    [...relationParameters(tables), tables.map(({ key }) => key.name)],
  );
  return rows;
}
