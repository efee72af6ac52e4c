import { isKeyScoped, KEY_SCOPED_TABLES } from '../tables/key-scoped-tables.js';
import { keyTables } from '../tables/key-tables.js';
import { doubtfulReferences, type DoubtfulReference } from './doubtful-references.js';
import { reading } from './reading.js';
import type { MoveSession } from '../move-session.js';

/** A table with the key, as an audit reads it. */
export interface AuditedTable {
  readonly schema: string;
  readonly name: string;
  readonly key: { readonly name: string; readonly type: string };
  /** Rows without a key are possible, and should not be. */
  readonly nullable: boolean;
  /** An index begins with the key: distinct keys are found without reading all rows. */
  readonly indexed: boolean;
  /** Foreign keys that nobody vouches for. */
  readonly references: readonly DoubtfulReference[];
}

interface KeyFacts {
  readonly oid: string;
  readonly type: string;
  readonly nullable: boolean;
  readonly indexed: boolean;
}

const FACTS = `
  select c.oid::text as oid, format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as nullable,
    exists (select from pg_index i join pg_class x on x.oid = i.indexrelid join pg_am m on m.oid = x.relam
      where i.indrelid = c.oid and i.indkey[0] = a.attnum and i.indisvalid and i.indpred is null and m.amname = 'btree') as indexed
  from unnest($1::oid[], $2::text[]) given (oid, key)
    join pg_class c on c.oid = given.oid
    join pg_attribute a on a.attrelid = c.oid and a.attname = given.key and a.attnum > 0`;

/** All tables with the key, by schema and name. */
export function auditedTables(session: MoveSession, keyColumn: string): Promise<AuditedTable[]> {
  return reading(session, async () => {
    const tables = await keyTables(session, keyColumn, KEY_SCOPED_TABLES);
    const oids = tables.map(({ oid }) => oid);
    const { rows } = await session.client.query<KeyFacts>(FACTS, [oids, tables.map(({ key }) => key)]);
    const references = await doubtfulReferences(session, oids);
    return tables.flatMap(({ oid, schema, name, key }) => {
      const facts = rows.find((row) => row.oid === oid);
      if (!facts || key === null) return [];
      const { type, indexed } = facts;
      const nullable = facts.nullable && !isKeyScoped({ name });
      const own = references.filter((reference) => reference.oid === oid);
      return [{ schema, name, key: { name: key, type }, nullable, indexed, references: own }];
    });
  });
}
