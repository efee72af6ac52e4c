import type { PostgresRunner } from './shard-runner.js';

/** A reset that is not answered soon is given up with its connection. */
const RESET_LIMIT_MS = 2000;

/** Clears what raw SQL may have left in a session, and gives the connection back. */
export async function reset(runner: PostgresRunner): Promise<void> {
  const late = setTimeout(
    () => void runner.releasePostgresConnection(new Error('reset too slow')),
    RESET_LIMIT_MS,
  );
  try {
    const client = await runner.connect();
    await client.query('discard all');
    await runner.releasePostgresConnection();
  } catch (error) {
    await runner.releasePostgresConnection(error instanceof Error ? error : new Error('reset failed'));
  } finally {
    clearTimeout(late);
  }
}
