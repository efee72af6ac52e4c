import { columnList, quoted } from './quoted.js';
import { slotExpression } from './slot-expression.js';
import type pg from 'pg';
import type { KeyKind, MoveScope } from './move-request.js';
import type { MoveSession } from './move-session.js';
import type { MovedTable } from './tables/moved-table.js';

/** Whose rows, beside how their keys are hashed and which keys of a slot stay where they are. */
export interface MovedRows {
  readonly scope: MoveScope;
  readonly keyKind: KeyKind;
  /** Keys of the slots that pins lead elsewhere, or keep at the source. */
  readonly kept: readonly string[];
}

/**
 * The condition on a table that selects the rows of a move, as text: `copy` takes no parameters. Values are quoted by the
 * server.
 */
export async function filterOf(
  { client, schema }: MoveSession,
  { key }: Pick<MovedTable, 'key'>,
  { scope, keyKind, kept }: MovedRows,
): Promise<string> {
  const column = quoted(key.name);
  if ('keys' in scope) {
    const { compared, type } = comparison(column, key.type);
    return `${compared} = any (${await literal(client, scope.keys)}::${type}[])`;
  }
  const slot = slotExpression(schema, column, { type: key.type, keyKind });
  const inSlots = `(${slot}) = any ('{${scope.slots.join(',')}}'::int[])`;
  if (kept.length === 0) return inSlots;
  return `${inSlots} and ${column}::text <> all (${await literal(client, kept)}::text[])`;
}

/** A cast to `varchar(3)` would cut keys short, and select those of somebody else: texts are compared as texts. */
const COMPARED_AS: Readonly<Record<string, string>> = {
  text: 'text',
  uuid: 'uuid',
  smallint: 'smallint',
  integer: 'integer',
  bigint: 'bigint',
};
const VARCHAR = /^character varying(\(\d+\))?$/;

function comparison(column: string, type: string): { readonly compared: string; readonly type: string } {
  const same = VARCHAR.test(type) ? 'text' : COMPARED_AS[type];
  return same === undefined
    ? { compared: `${column}::text`, type: 'text' }
    : { compared: column, type: same };
}

async function literal(client: pg.Client, values: readonly string[]): Promise<string> {
  const { rows } = await client.query<{ quoted: string }>(`select format('%L', $1::text[]::text) as quoted`, [
    values,
  ]);
  return rows[0]?.quoted ?? `'{}'`;
}

/** The columns that are copied. */
export function copiedColumns({ columns, renumbered }: MovedTable): string {
  const copied = columns.filter(({ name, generated }) => !generated && name !== renumbered);
  return columnList(copied.map(({ name }) => name));
}
