import type pg from 'pg';
import type { MoveSession } from '../../move-session.js';

const BATCH = 5000;

/** Texts of values by column. */
export type Values = readonly (readonly (string | null)[])[];

/**
 * Reads rows by a cursor, a bounded number at a time. While `work` asks another server about some, the next are read. Within a
 * transaction.
 *
 * @param select of which all columns are text
 */
export async function inBatches(
  session: MoveSession,
  select: string,
  work: (values: Values) => Promise<void>,
): Promise<void> {
  await session.client.query(`declare moved no scroll cursor for ${select}`);
  for (let next: Promise<Batch> | undefined = fetched(session); next;) {
    const { rows, fields }: Batch = await next;
    next = rows.length < BATCH ? undefined : fetched(session);
    if (rows.length > 0) await work(fields.map((_field, column) => rows.map((row) => row[column] ?? null)));
  }
  await session.client.query('close moved');
}

type Batch = pg.QueryArrayResult<(string | null)[]>;

function fetched({ client }: MoveSession): Promise<Batch> {
  const batch = client.query<(string | null)[]>({ text: `fetch ${BATCH} from moved`, rowMode: 'array' });
  batch.catch(() => undefined); // nobody waits for it where `work` has failed before
  return batch;
}
