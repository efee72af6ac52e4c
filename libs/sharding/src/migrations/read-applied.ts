import pg from 'pg';
import type { ShardingSettings } from '../sharding.settings.js';
import type { MigrationTarget } from './migration-target.js';

/** Where TypeORM records the migrations of the application. */
export interface MigrationsTable {
  /** Undefined: the first schema of the `search_path`. */
  readonly schema: string | undefined;
  readonly name: string;
}

export function migrationsTable({ typeorm }: Pick<ShardingSettings, 'typeorm'>): MigrationsTable {
  const { schema, migrationsTableName: name = 'migrations' } = typeorm.options;
  return { schema, name };
}

/** What is recorded in one database, in the order in which it was applied. */
export interface Applied {
  /** Undefined: the library has never migrated it. */
  readonly framework: readonly string[] | undefined;
  readonly own: readonly string[];
}

/** What a target lacks, and what it has that the code does not know. */
interface Difference {
  readonly pending: readonly string[];
  readonly unknown: readonly string[];
}

/**
 * Reads only, also where no table is there yet. To be called inside a transaction.
 *
 * @param table undefined: what the application has applied is of no interest
 */
export async function readApplied(client: pg.Client, table: MigrationsTable | undefined): Promise<Applied> {
  const { rows } = await client.query<{ framework: string | null; own: string | null }>(
    `select to_regclass('_sharding_migrations')::text as framework,
      case when $2::text is not null
        then to_regclass(format('%I.%I', coalesce($1, current_schema()), $2::text))::text end as own`,
    [table?.schema, table?.name],
  );
  const [found] = rows;
  return {
    framework: found?.framework ? await framework(client) : undefined,
    own: table && found?.own ? await own(client, table) : [],
  };
}

async function framework(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select name from _sharding_migrations order by applied_at, right(name, 13)`,
  );
  return rows.map(({ name }) => name);
}

async function own(client: pg.Client, { schema, name }: MigrationsTable): Promise<string[]> {
  const table = [...(schema === undefined ? [] : [schema]), name].map(pg.escapeIdentifier).join('.');
  const { rows } = await client.query<{ name: string }>(`select name from ${table} order by id`);
  return rows.map((row) => row.name);
}

/** Compares a target with what its database has. */
export function differenceOf(target: MigrationTarget, applied: Applied): Difference {
  const code = { framework: target.framework.map(named), own: target.own.map(named) };
  const there = { framework: applied.framework ?? [], own: applied.own };
  return {
    pending: [...missing(code.framework, there.framework), ...missing(code.own, there.own)],
    unknown: [...missing(there.framework, code.framework), ...missing(there.own, code.own)],
  };
}

const named = ({ name }: { readonly name: string }) => name;

function missing(names: readonly string[], from: readonly string[]): string[] {
  const known = new Set(from);
  return names.filter((name) => !known.has(name));
}

/** Runs `read` in one read-only transaction: it cannot write, and sees one state. */
export async function readOnly<T>(client: pg.Client, read: () => Promise<T>): Promise<T> {
  await client.query('begin transaction isolation level repeatable read, read only');
  const value = await read();
  await client.query('commit');
  return value;
}
