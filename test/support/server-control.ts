import { runOnce } from './admin-query.js';
import { waitFor } from './wait-for.js';

/** Faults that a server is told by SQL. Each returns when it is so; `url` is the superuser's. */

/** Refuses writes (25006) and answers everything else, as a primary does that a failover has left behind. */
export async function demote(url: string): Promise<void> {
  await configure(url, { name: 'default_transaction_read_only', value: 'on', shown: 'on' });
}

/** Ends {@link demote}; a streaming replica becomes a primary. */
export async function promote(url: string): Promise<void> {
  const [row] = await runOnce(url, 'select pg_is_in_recovery() as recovering');
  if (row?.['recovering'] === true) await runOnce(url, 'select pg_promote(true, 20)');
  await configure(url, { name: 'default_transaction_read_only', value: 'off', shown: 'off' });
}

/** The replica goes on receiving and applies nothing more. */
export async function pauseReplay(url: string): Promise<void> {
  await runOnce(url, 'select pg_wal_replay_pause()');
  const paused = async () =>
    (await runOnce(url, `select 1 where pg_get_wal_replay_pause_state() = 'paused'`)).length === 1;
  await waitFor(paused, { what: 'the replay to pause' });
}

export async function resumeReplay(url: string): Promise<void> {
  await runOnce(url, 'select pg_wal_replay_resume()');
}

/** The replica applies each commit this long after it was made on the primary; 0 at once. */
export async function setApplyDelay(url: string, ms: number): Promise<void> {
  await configure(url, { name: 'recovery_min_apply_delay', value: `${ms}ms`, shown: String(ms) });
}

/** Ends all client sessions of a database with 57P01; returns how many. */
export async function terminateAll(url: string, database: string): Promise<number> {
  const sql = `select pg_terminate_backend(pid) as done from pg_stat_activity
    where datname = $1 and pid <> pg_backend_pid() and backend_type = 'client backend'`;
  return (await runOnce(url, sql, [database])).filter(({ done }) => done === true).length;
}

/** Changes a parameter for new sessions; those that exist follow within moments, each by itself. */
async function configure(
  url: string,
  parameter: { readonly name: string; readonly value: string; readonly shown: string },
): Promise<void> {
  const { name, value, shown } = parameter;
  await runOnce(url, `alter system set ${name} = '${value}'`);
  await runOnce(url, 'select pg_reload_conf()');
  const sql = `select 1 from pg_settings where name = $1 and setting = $2`;
  await waitFor(async () => (await runOnce(url, sql, [name, shown])).length === 1, {
    what: `${name} to be ${value}`,
  });
}
