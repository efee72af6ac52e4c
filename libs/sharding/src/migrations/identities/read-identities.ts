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
  plan: IdentityPlan,
  { schema, name }: MigrationsTable,
): Promise<IdentityState> {
  const { rows: columns } = await client.query<IdentityColumn>(COLUMNS, [schema, name]);
  const wide = columns.filter(({ type, increment }) => type === 'bigint' && !increment.startsWith('-'));
  return {
    misaligned: await misaligned(client, wide, plan),
    left: columns.filter((column) => !wide.includes(column)),
  };
}

/** Whether a closer look is worth its time: any sequence at all, of a column or not, that is not as planned. */
export async function looksMisaligned(client: Queries, { ordinal, stride }: IdentityPlan): Promise<boolean> {
  const { rows } = await client.query(
    `select from pg_sequence where seqtypid = 'bigint'::regtype
        and (seqincrement <> $2 or (coalesce(case when has_sequence_privilege(seqrelid, 'usage, select')
          then pg_sequence_last_value(seqrelid) end, seqstart) - $1) % $2 <> 0)
      limit 1`,
    [ordinal + 1, stride],
  );
  return rows.length > 0;
}

/** The plan that a shard has noted; the table is there. */
export async function recordedPlan(client: Queries, shard: string): Promise<IdentityPlan | undefined> {
  const { rows } = await client.query<IdentityPlan & { ordinal: number }>(
    'select ordinal, stride from _sharding_identities where shard_name = $1',
    [shard],
  );
  return rows[0];
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
