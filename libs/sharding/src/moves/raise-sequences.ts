import { setTimeout as pause } from 'node:timers/promises';
import { failureCode } from '../shards/database-failure.js';
import { filterOf, type MovedRows } from './scope-filter.js';
import { inTransaction, type MoveSession } from './move-session.js';
import { quoted, quotedTable } from './quoted.js';
import type { MovedTable } from './tables/moved-table.js';

/** A column of a moved table that a sequence of the destination fills. */
interface Generated {
  readonly schema: string;
  readonly table: string;
  readonly column: string;
  /** Quoted by the server. */
  readonly sequence: string;
}

/** Sequences that identities own, and those that the default of a column names: one query for all tables. */
const GENERATED = `
  select n.nspname as schema, c.relname as table, a.attname as column,
    format('%I.%I', sn.nspname, s.relname) as sequence
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid and t.typname in ('int2', 'int4', 'int8')
  left join pg_attrdef ad on ad.adrelid = c.oid and ad.adnum = a.attnum
  join lateral (
    select d.objid as oid from pg_depend d
      where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass
        and d.refobjid = c.oid and d.refobjsubid = a.attnum and d.deptype in ('a', 'i')
    union
    select d.refobjid from pg_depend d
      where d.classid = 'pg_attrdef'::regclass and d.objid = ad.oid and d.refclassid = 'pg_class'::regclass
  ) owned on true
  join pg_class s on s.oid = owned.oid and s.relkind = 'S'
  join pg_namespace sn on sn.oid = s.relnamespace
  where (n.nspname, c.relname) in (select * from unnest($1::text[], $2::text[]))`;

/**
 * Lets the sequences of the destination go on above the ids that arrive, with ids of their own residue; never lower. In a
 * transaction of its own for each: it keeps others from the sequence for a moment.
 */
export async function raiseSequences(
  destination: MoveSession,
  source: MoveSession,
  { tables, rows }: { readonly tables: readonly MovedTable[]; readonly rows: MovedRows },
): Promise<void> {
  const { rows: columns } = await destination.client.query<Generated>(GENERATED, [
    tables.map(({ schema }) => schema),
    tables.map(({ name }) => name),
  ]);
  for (const table of tables) {
    for (const column of columns.filter((each) => isCopied(each, table))) {
      const filter = await filterOf(source, table, rows);
      const largest = await largestOf(source, table, { column: column.column, filter });
      if (largest !== undefined) await patiently(() => raise(destination, column.sequence, largest));
    }
  }
}

function isCopied({ schema, table, column }: Generated, moved: MovedTable): boolean {
  return schema === moved.schema && table === moved.name && column !== moved.renumbered;
}

async function largestOf(
  { client }: MoveSession,
  table: MovedTable,
  { column, filter }: { readonly column: string; readonly filter: string },
): Promise<string | undefined> {
  const { rows } = await client.query<{ largest: string | null }>(
    `select max(${quoted(column)})::text as largest from ${quotedTable(table)} where ${filter}`,
  );
  return rows[0]?.largest ?? undefined;
}

const TRIES = 25;
const LOCK_NOT_AVAILABLE = '55P03';

/** Nobody queues behind us for long. */
async function patiently(work: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (failureCode(error) !== LOCK_NOT_AVAILABLE || attempt === TRIES) throw error;
      await pause(100 + 200 * Math.random());
    }
  }
}

/**
 * By whole increments, so that an interleaved sequence keeps its residue. The increment is set to what it is: that alone
 * keeps others from the sequence until the commit.
 */
async function raise(session: MoveSession, sequence: string, largest: string): Promise<void> {
  const { client } = session;
  await inTransaction(session, '', async () => {
    await client.query(`set local lock_timeout = '200ms'`);
    const { rows } = await client.query<{ increment: string; above: boolean }>(
      `select seqincrement::text as increment,
          seqincrement > 0 and $2::numeric >= coalesce(pg_sequence_last_value(seqrelid), seqstart - seqincrement) as above
        from pg_sequence where seqrelid = $1::regclass`,
      [sequence, largest],
    );
    const [found] = rows;
    if (!found?.above) return;
    await client.query(`alter sequence ${sequence} increment by ${BigInt(found.increment)}`);
    await client.query(
      `with used as (
          select (case when is_called then last_value else last_value - $2::bigint end)::numeric as value from ${sequence})
        select setval($1::regclass,
          (value + $2::numeric * (floor(($3::numeric - value) / $2::numeric) + 1))::bigint, false)
        from used where value <= $3::numeric`,
      [sequence, found.increment, largest],
    );
  });
}
