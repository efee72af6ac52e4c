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
}

/** `public.notes.id`, for the log. */
export const columnName = ({ table, column }: IdentityColumn) => `${table}.${column}`;

/** A column whose ids stay as they are, and what it is that keeps them so. */
export interface LeftColumn extends IdentityColumn {
  /** `is integer`: behind its name, for the log. */
  readonly why: string;
}

/** What of a shard's identities is not as planned. */
interface IdentityState {
  /** To be aligned. */
  readonly misaligned: readonly IdentityColumn[];
  /** Cannot be. */
  readonly left: readonly LeftColumn[];
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
  const { rows } = await client.query<FoundColumn>(COLUMNS, [schema, name]);
  const columns = rows.map((row) => ({ ...row, why: whyLeft(row) }));
  return {
    misaligned: await misaligned(
      client,
      columns.filter(({ why }) => why === undefined),
      plan,
    ),
    left: columns.flatMap(({ why, ...column }) => (why === undefined ? [] : [{ ...column, why }])),
  };
}

interface FoundColumn extends IdentityColumn {
  readonly type: string;
  readonly increment: string;
  /** Null where this role may change the sequence. */
  readonly owner: string | null;
}

/** Too small for the steps, counting down, or not this role's to change. */
function whyLeft({ type, increment, owner }: FoundColumn): string | undefined {
  if (type !== 'bigint') return `is ${type}`;
  if (increment.startsWith('-')) return 'counts down';
  return owner === null ? undefined : `belongs to the role ${owner}`;
}

/**
 * Step by step: `offset 0` keeps the planner from weighing all orders of six tables, which took it ten times as long as the
 * answer. Asked behind every migration, and of every target that is up to date.
 */
const COLUMNS = `
  select t.name as "table", sc.name as sequence, a.attname as "column", format_type(a.atttypid, null) as type,
    s.seqincrement::text as increment, sc.owner
  from pg_sequence s
  cross join lateral (
    select refobjid as relation, refobjsubid as number from pg_depend
    where classid = 'pg_class'::regclass and objid = s.seqrelid and refclassid = 'pg_class'::regclass
      and deptype in ('a', 'i') offset 0) d
  cross join lateral (
    select relnamespace::regnamespace || '.' || quote_ident(relname) as name from pg_class
    where oid = d.relation and relkind in ('r', 'p') and relnamespace::regnamespace::text !~ '^pg_'
      and relname !~ '^_sharding_' and relname <> 'typeorm_metadata'
      and not (relname = $2 and relnamespace::regnamespace::text = quote_ident(coalesce($1, current_schema())))
      and not exists (select from pg_depend e
        where e.classid = 'pg_class'::regclass and e.objid = d.relation and e.deptype = 'e') offset 0) t
  cross join lateral (
    select relnamespace::regnamespace || '.' || quote_ident(relname) as name,
      case when not pg_has_role(relowner, 'usage') then relowner::regrole::text end as owner
    from pg_class where oid = s.seqrelid offset 0) sc
  cross join lateral (
    select attname, atttypid from pg_attribute where attrelid = d.relation and attnum = d.number offset 0) a
  order by 1, 3`;

/** As text and as big integers: a place beyond 2^53 counts to the last digit, whatever the driver makes of numbers. */
async function misaligned(
  client: Queries,
  columns: readonly FoundColumn[],
  { ordinal, stride }: IdentityPlan,
): Promise<IdentityColumn[]> {
  if (columns.length === 0) return [];
  const looks = columns.map(
    ({ sequence }, index) => `select '${index}' as index, last_value::text as at from ${sequence}`,
  );
  const { rows } = await client.query<{ index: string; at: string }>(looks.join(' union all '));
  const off = new Set(
    rows
      .filter(({ at }) => (BigInt(at) - BigInt(ordinal + 1)) % BigInt(stride) !== 0n)
      .map((row) => row.index),
  );
  return columns.filter(({ increment }, index) => off.has(String(index)) || increment !== String(stride));
}
