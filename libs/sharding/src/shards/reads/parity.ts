import { failureCode } from '../database-failure.js';
import type { QueryResultRow } from 'pg';
import type { StandingConnection } from '../standing-connection.js';

/** Bound of one comparison. */
export const PARITY_LIMIT_MS = 5000;

/** Whether a replica is a copy of its primary with the same migrations. */
export type Parity = { readonly same: true } | { readonly same: false; readonly reason: string };

interface Side {
  readonly system: string | undefined;
  readonly database: string;
  readonly migrations: readonly string[];
}

/** The primary could not be asked, so nothing is known about the replica. */
export class PrimarySilent extends Error {}

/** Where the applied migrations are listed. */
export interface MigrationsTable {
  readonly schema?: string | undefined;
  readonly name: string;
}

/**
 * Compares the list of applied migrations, the database's name and the server's identity, which a streaming replica has
 * in common with its primary.
 *
 * @throws the driver's error, or `timeout expired`
 */
export async function compareSides(
  primary: StandingConnection,
  replica: StandingConnection,
  table: MigrationsTable,
): Promise<Parity> {
  const ends = performance.now() + PARITY_LIMIT_MS;
  const asking = (connection: StandingConnection): Ask => {
    return (sql) => connection.query(sql, Math.max(1, ends - performance.now()));
  };
  const here = sideOf(asking(primary), table).catch((cause: unknown) => {
    throw new PrimarySilent('the primary does not answer', { cause });
  });
  const [ofPrimary, ofReplica] = await Promise.all([here, sideOf(asking(replica), table)]);
  return parity(ofPrimary, ofReplica);
}

type Ask = <Row extends QueryResultRow>(sql: string) => Promise<Row[]>;

export function parity(primary: Side, replica: Side): Parity {
  if (primary.system !== undefined && replica.system !== undefined && primary.system !== replica.system) {
    return { same: false, reason: 'it is a copy of another server' };
  }
  if (primary.database !== replica.database) return { same: false, reason: 'it is another database' };
  const applied = new Set(replica.migrations);
  const missing = primary.migrations.filter((name) => !applied.has(name));
  if (missing.length > 0) return { same: false, reason: `lacks migration ${missing.at(-1)}` };
  if (replica.migrations.length > primary.migrations.length) {
    return { same: false, reason: 'has a migration that the primary has not' };
  }
  return { same: true };
}

async function sideOf(ask: Ask, table: MigrationsTable): Promise<Side> {
  const [identity] = await ask<{ database: string }>('select current_database() as database');
  const migrations = await orElse(appliedMigrations(ask, table), '42P01', []); // no table yet: none applied
  const system = await orElse(systemIdentifier(ask), '42501', undefined); // not every provider allows it
  return { system, database: identity?.database ?? '', migrations };
}

async function appliedMigrations(ask: Ask, { schema, name }: MigrationsTable): Promise<string[]> {
  const from = [schema, name].flatMap((part) => (part === undefined ? [] : [quoted(part)])).join('.');
  const rows = await ask<{ name: string }>(`select name from ${from} order by id`);
  return rows.map((row) => row.name);
}

async function systemIdentifier(ask: Ask): Promise<string | undefined> {
  const [row] = await ask<{ system: string }>(
    'select system_identifier::text as system from pg_control_system()',
  );
  return row?.system;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

async function orElse<T>(asked: Promise<T>, code: string, otherwise: T): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (failureCode(error) === code) return otherwise;
    throw error;
  }
}
