import { quoted } from '../../quoted.js';
import type { MoveSession } from '../../move-session.js';
import type { Values } from './in-batches.js';

/** A column, and the type that texts of its values are cast to. */
export interface Compared {
  readonly name: string;
  readonly type: string;
}

/** `"id"::text, "url"::text` */
export function texts(columns: readonly Pick<Compared, 'name'>[]): string {
  return columns.map(({ name }) => `${quoted(name)}::text`).join(', ');
}

/** `unnest($1::text[], $2::text[]) as given (v0, v1)` */
export function givenValues(columns: readonly unknown[]): string {
  const arrays = columns.map((_column, index) => `$${index + 1}::text[]`);
  return `unnest(${arrays.join(', ')}) as given (${columns.map((_column, index) => `v${index}`).join(', ')})`;
}

/** The condition that the columns of `held` have the given values. */
export function equalToGiven(columns: readonly Compared[], nulls: 'differ' | 'equal'): string {
  return columns
    .map(({ name, type }, index) => {
      const equal = `held.${quoted(name)} = given.v${index}::${type}`;
      if (nulls === 'differ') return equal;
      return `(${equal} or held.${quoted(name)} is null and given.v${index} is null)`;
    })
    .join(' and ');
}

/** @param statement selects one `count` as text */
export async function countOf(
  { client }: MoveSession,
  statement: string,
  values: Values = [],
): Promise<bigint> {
  const { rows } = await client.query<{ count: string }>(statement, [...values]);
  return BigInt(rows[0]?.count ?? 0);
}
