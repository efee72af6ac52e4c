import type pg from 'pg';

/** Whether a table of the framework is there. */
export async function hasTable(client: pg.Client, name: string): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>('select to_regclass($1) is not null as found', [
    name,
  ]);
  return rows[0]?.found ?? false;
}
