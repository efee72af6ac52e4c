import { randomBytes } from 'node:crypto';
import { quoted, quotedTable } from './quoted.js';
import type { MoveSession } from './move-session.js';
import type { MovedColumn, MovedTable } from './tables/moved-table.js';

/** What rows contain, in any order. Numbers as text: they are longer than those of JavaScript. */
export interface Fingerprint {
  readonly rows: string;
  /** Sums of the hashes of all rows, with two seeds. */
  readonly sums: readonly [string, string];
}

/** Chosen anew for each move, so that nobody can write rows that only look equal. */
export type Seeds = readonly [string, string];

export function newSeeds(): Seeds {
  const seed = () => randomBytes(8).readBigInt64BE().toString();
  return [seed(), seed()];
}

const TEXT = /^(text|character varying(\(\d+\))?)$/;

/** The text of a value as its type writes it, not as somebody's cast to text would; `$3` stands for null. */
function valueText({ name, type }: MovedColumn): string {
  const value = quoted(name);
  const text = TEXT.test(type)
    ? `coalesce(${value}, $3::text)`
    : `case when ${value} is distinct from null then concat(${value}) else $3::text end`; // of a row `is not null` says more
  return `${text} collate pg_catalog."C" as ${value}`;
}

/** No value is the text of two secret numbers. */
function nullText(seeds: Seeds): string {
  return `null of ${seeds.join(' and ')}`;
}

/** The hash of a value is the seed of the next: `moves/MOVE.md`, Proof. */
function rowHash(columns: readonly MovedColumn[], seed: string): string {
  return columns.reduce((hash, { name }) => `hashtextextended(moved.${quoted(name)}, ${hash})`, seed);
}

/** @param filter a condition of {@link filterOf} */
export async function fingerprint(
  { client }: MoveSession,
  table: MovedTable,
  { filter, seeds }: { readonly filter: string; readonly seeds: Seeds },
): Promise<Fingerprint> {
  const proven = table.columns.filter(({ name }) => name !== table.renumbered);
  const { rows } = await client.query<{ rows: string; first: string; second: string }>(
    `select count(*)::text as rows,
      coalesce(sum(${rowHash(proven, '$1::bigint')}), 0)::text as first,
      coalesce(sum(${rowHash(proven, '$2::bigint')}), 0)::text as second
    from (select ${proven.map(valueText).join(', ')} from ${quotedTable(table)} where ${filter} offset 0) moved`,
    [...seeds, nullText(seeds)],
  );
  const { rows: count, ...sums } = rows[0] as { rows: string; first: string; second: string };
  return { rows: count, sums: [sums.first, sums.second] };
}

export function sameContent(a: Fingerprint, b: Fingerprint): boolean {
  return a.rows === b.rows && a.sums[0] === b.sums[0] && a.sums[1] === b.sums[1];
}
