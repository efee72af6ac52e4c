import { IS_OWN_TABLE } from './own-tables.js';
import type { Read } from '../look.js';

export interface ForeignKeyFacts {
  readonly name: string;
  readonly table: string;
  readonly references: string;
  /** The n-th column refers to the n-th referenced one. */
  readonly columns: readonly string[];
  readonly referenced: readonly string[];
}

export const foreignKeyFacts: Read<ForeignKeyFacts[]> = async (client) => {
  const { rows } = await client.query<ForeignKeyFacts>(`
    select f.conname::text as name, f.conrelid::regclass::text as "table", f.confrelid::regclass::text as "references",
      ${namesOf('f.conkey', 'f.conrelid')} as columns, ${namesOf('f.confkey', 'f.confrelid')} as referenced
    from pg_constraint f join pg_class t on t.oid = f.conrelid join pg_namespace n on n.oid = t.relnamespace
    where f.contype = 'f' and f.conparentid = 0 and ${IS_OWN_TABLE}
    order by "table", name`);
  return rows;
};

function namesOf(numbers: string, table: string): string {
  return `array(select a.attname::text from unnest(${numbers}) with ordinality k (attnum, place)
    join pg_attribute a on a.attrelid = ${table} and a.attnum = k.attnum order by k.place)`;
}
