import type { MoveSession } from '../../move-session.js';

const BATCH = 5000;

/** Texts of values by column. */
export type Values = readonly (readonly (string | null)[])[];

/**
 * Reads rows by a cursor, a bounded number at a time. Within a transaction.
 *
 * @param select of which all columns are text
 */
export async function inBatches(
  { client }: MoveSession,
  select: string,
  work: (values: Values) => Promise<void>,
): Promise<void> {
  await client.query(`declare moved no scroll cursor for ${select}`);
  for (;;) {
    const { rows, fields } = await client.query<(string | null)[]>({
      text: `fetch ${BATCH} from moved`,
      rowMode: 'array',
    });
    if (rows.length > 0) await work(fields.map((_field, column) => rows.map((row) => row[column] ?? null)));
    if (rows.length < BATCH) break;
  }
  await client.query('close moved');
}
