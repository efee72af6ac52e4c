import type pg from 'pg';

/**
 * Runs `read` in a transaction of one snapshot that cannot write. It ends with a commit, or a rollback when `read` fails.
 *
 * @param limitMs of each statement
 */
export async function readOnly<T>(client: pg.Client, read: () => Promise<T>, limitMs?: number): Promise<T> {
  const limit = limitMs === undefined ? '' : `; set local statement_timeout = ${limitMs}`;
  await client.query(`start transaction isolation level repeatable read, read only${limit}`);
  try {
    const value = await read();
    await client.query('commit');
    return value;
  } catch (error) {
    await client.query('rollback').catch(() => undefined); // the connection is lost: the first error says so
    throw error;
  }
}
