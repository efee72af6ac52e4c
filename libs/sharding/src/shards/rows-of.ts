import type { QueryRunner } from 'typeorm';

/** The rows of one statement on the connection of a query runner, also those of `returning`. */
export async function rowsOf<Row>(
  runner: Pick<QueryRunner, 'query'>,
  sql: string,
  parameters?: readonly unknown[],
): Promise<Row[]> {
  const { records } = await runner.query(sql, parameters && [...parameters], true);
  return records as Row[];
}
