import pg from 'pg';
import type { MigrationsTable } from '../read-applied.js';
import type { IdentityPlan } from './assign-ordinals.js';

/** A column whose values come from a sequence of its own: identity or serial. */
export interface IdentityColumn {
  /** Quoted, with its schema, like the next. */
  readonly table: string;
  readonly sequence: string;
  /** Not quoted. */
  readonly column: string;
  readonly type: string;
  readonly increment: string;
}

/** `public.notes.id`, for the log. */
export const columnName = ({ table, column }: IdentityColumn) => `${table}.${column}`;

/** What of a shard's identities is not as planned. */
export interface IdentityState {
  /** To be aligned. */
  readonly misaligned: readonly IdentityColumn[];
  /** Cannot be: too small for the steps, or counting down. */
  readonly left: readonly IdentityColumn[];
  /** Whether the shard has recorded its plan. */
  readonly recorded: boolean;
}

interface Queries {
  query<Row extends pg.QueryResultRow>(sql: string, values?: unknown[]): Promise<{ rows: Row[] }>;
}

/**
 * Looks at the identity and serial columns of all tables of a shard but the framework's, TypeORM's and those of extensions:
 * what lives on a shard is sharded.
 */
export async function readIdentities(
  client: Queries,
  { plan, shard, table }: { plan: IdentityPlan; shard: string; table: MigrationsTable },
): Promise<IdentityState> {
  const { rows: columns } = await client.query<IdentityColumn>(COLUMNS, [table.schema, table.name]);
  const wide = columns.filter(({ type, increment }) => type === 'bigint' && !increment.startsWith('-'));
  return {
    misaligned: await misaligned(client, wide, plan),
    left: columns.filter((column) => !wide.includes(column)),
    recorded: await isRecorded(client, shard),
  };
}

const COLUMNS = `
  select format('%I.%I', n.nspname, t.relname) as "table", format('%I.%I', sn.nspname, sc.relname) as sequence,
    a.attname as "column", format_type(a.atttypid, null) as type, s.seqincrement::text as increment
  from pg_sequence s
  join pg_class sc on sc.oid = s.seqrelid join pg_namespace sn on sn.oid = sc.relnamespace
  join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = s.seqrelid
    and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')
  join pg_class t on t.oid = d.refobjid and t.relkind in ('r', 'p')
  join pg_namespace n on n.oid = t.relnamespace
  join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
  where n.nspname !~ '^pg_' and t.relname !~ '^_sharding_' and t.relname <> 'typeorm_metadata'
    and not (t.relname = $2 and n.nspname = coalesce($1, current_schema()))
    and not exists (select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = t.oid and e.deptype = 'e')
  order by 1, 3`;

async function misaligned(
  client: Queries,
  columns: readonly IdentityColumn[],
  { ordinal, stride }: IdentityPlan,
): Promise<IdentityColumn[]> {
  if (columns.length === 0) return [];
  const looks = columns.map(
    ({ sequence }, index) =>
      `select ${index} as index, (last_value - ${ordinal + 1}) % ${stride} as off from ${sequence}`,
  );
  const { rows } = await client.query<{ index: number; off: string }>(looks.join(' union all '));
  const off = new Set(rows.filter((row) => row.off !== '0').map(({ index }) => index));
  return columns.filter(({ increment }, index) => off.has(index) || increment !== String(stride));
}

async function isRecorded(client: Queries, shard: string): Promise<boolean> {
  const { rows } = await client.query<{ found: unknown }>(
    `select to_regclass('_sharding_identities') as found`,
  );
  if (rows[0]?.found === null) return false;
  return (
    (await client.query('select from _sharding_identities where shard_name = $1', [shard])).rows.length > 0
  );
}
