import { randomBytes } from 'node:crypto';
import { columnList, quotedTable } from './quoted.js';
import type { MoveSession } from './move-session.js';
import type { MovedTable } from './tables/moved-table.js';

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

/** The text of a row, the same on both sides: `moves/MOVE.md`, Proof. */
export function rowText({ columns, renumbered }: MovedTable): string {
  const proven = columns.map(({ name }) => name).filter((name) => name !== renumbered);
  return `row(${columnList(proven)})::text collate pg_catalog."C"`;
}

/** @param filter a condition of {@link filterOf} */
export async function fingerprint(
  { client }: MoveSession,
  table: MovedTable,
  { filter, seeds: [first, second] }: { readonly filter: string; readonly seeds: Seeds },
): Promise<Fingerprint> {
  const { rows } = await client.query<{ rows: string; first: string; second: string }>(
    `select count(*)::text as rows,
      coalesce(sum(hashtextextended(moved.text, $1)), 0)::text as first,
      coalesce(sum(hashtextextended(moved.text, $2)), 0)::text as second
    from (select ${rowText(table)} as text from ${quotedTable(table)} where ${filter} offset 0) moved`,
    [first, second],
  );
  const { rows: count, ...sums } = rows[0] as { rows: string; first: string; second: string };
  return { rows: count, sums: [sums.first, sums.second] };
}

export function sameContent(a: Fingerprint, b: Fingerprint): boolean {
  return a.rows === b.rows && a.sums[0] === b.sums[0] && a.sums[1] === b.sums[1];
}
