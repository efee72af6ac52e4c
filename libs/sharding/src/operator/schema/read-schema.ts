import { readOnly } from '../../shards/read-only.js';
import {
  COLLATIONS,
  DATABASE,
  EVENT_TRIGGERS,
  EXTENSIONS,
  SCHEMAS,
} from './statements/database-statements.js';
import { CONSTRAINTS, INDEXES, POLICIES, RULES, STATISTICS, TRIGGERS } from './statements/part-statements.js';
import { ROUTINES } from './statements/routine-statements.js';
import { COLUMNS, SEQUENCES, TABLES, VIEWS } from './statements/table-statements.js';
import { COMPOSITE_TYPES, DOMAINS, ENUMS, RANGE_TYPES } from './statements/type-statements.js';
import type pg from 'pg';
import type { SchemaObject } from './schema-object.js';

const CATALOGS: readonly string[] = [
  DATABASE,
  EXTENSIONS,
  SCHEMAS,
  COLLATIONS,
  EVENT_TRIGGERS,
  ENUMS,
  DOMAINS,
  COMPOSITE_TYPES,
  RANGE_TYPES,
  ROUTINES,
  TABLES,
  COLUMNS,
  SEQUENCES,
  VIEWS,
  CONSTRAINTS,
  INDEXES,
  STATISTICS,
  TRIGGERS,
  POLICIES,
  RULES,
];

/** What the server writes definitions by, whatever is set for the role and the database. */
const PINNED = `select set_config(name, value, true) from (values
    ('search_path', 'pg_catalog, pg_temp'), ('quote_all_identifiers', 'off'), ('datestyle', 'ISO, YMD'),
    ('intervalstyle', 'postgres'), ('timezone', 'UTC'), ('extra_float_digits', '1'), ('bytea_output', 'hex'),
    ('statement_timeout', $1::text), ('lock_timeout', '3s')) pinned (name, value)`;

/**
 * What a database has, by its catalogs: everything but owners, privileges, comments, storage parameters of tables and
 * what extensions have made. In one short read-only transaction. To write a definition the server needs the lock of a
 * reader: what a migration has locked is waited for, for 3 s.
 *
 * @param limitMs of each statement
 * @throws the driver's error
 */
export function readSchema(client: pg.Client, limitMs: number): Promise<SchemaObject[]> {
  return readOnly(client, async () => {
    await client.query(PINNED, [`${limitMs}ms`]);
    const objects: SchemaObject[] = [];
    for (const statement of CATALOGS) {
      const { rows } = await client.query<SchemaObject>(statement);
      objects.push(...rows);
    }
    return objects;
  });
}
