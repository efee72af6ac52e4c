import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Client } from 'pg';
import { runOnce, withClient } from './admin-query.js';
import { dataOf, removeDataDirectory, writeSettings } from './data-directory.js';
import { errorCode } from './error-code.js';
import { createScratchDirectory } from './scratch-directory.js';
import type { ServerUser } from './server-user.js';
import { waitFor } from './wait-for.js';

const run = promisify(execFile);

/** Files of the running primary that a copy must not contain, and directories that must be empty in it. */
const LEFT_OUT = new Set(['postmaster.pid', 'postmaster.opts', 'backup_label', 'standby.signal']);
const EMPTIED = new Set([
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_subtrans',
]);

export interface ReplicaPlan {
  /** URL of the primary's superuser. */
  readonly primary: string;
  /** The replica's `application_name`. */
  readonly name: string;
}

/**
 * Makes the directory of a new replica: a base backup taken while the primary runs. The primary keeps enough
 * write-ahead log (`wal_keep_size`) for the replica to fetch the rest by streaming.
 */
export async function copyDataDirectory(plan: ReplicaPlan, user: ServerUser): Promise<string> {
  const directory = await createScratchDirectory(user);
  try {
    await withClient(plan.primary, (client) => takeBackup(client, dataOf(directory)));
    await writeFile(join(dataOf(directory), 'standby.signal'), '');
    await writeSettings(directory, { primary_conninfo: connectionInfo(plan) });
    if (user.uid !== undefined) await run('chown', ['-R', `${user.uid}:${user.gid}`, directory]);
  } catch (error) {
    await removeDataDirectory(directory);
    throw error;
  }
  return directory;
}

/** Waits until a replica receives the stream of its primary. */
export async function untilStreaming(replica: string): Promise<void> {
  const streaming = async () =>
    (await runOnce(replica, `select 1 from pg_stat_wal_receiver where status = 'streaming'`)).length === 1;
  await waitFor(streaming, { what: 'the replica to stream', timeoutMs: 20_000 });
}

async function takeBackup(primary: Client, target: string): Promise<void> {
  const shown = await primary.query<{ data_directory: string }>('show data_directory');
  await primary.query(`select pg_backup_start('replica', true)`);
  await copyTree(String(shown.rows[0]?.data_directory), target);
  const stopped = await primary.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)');
  await writeFile(join(target, 'backup_label'), String(stopped.rows[0]?.labelfile));
}

/** Files may vanish while they are copied: replaying the write-ahead log puts right whatever the copy missed. */
async function copyTree(source: string, target: string): Promise<void> {
  await mkdir(target, { mode: 0o700 });
  for (const entry of await readdir(source, { withFileTypes: true })) {
    if (LEFT_OUT.has(entry.name)) continue;
    const [from, to] = [join(source, entry.name), join(target, entry.name)];
    if (EMPTIED.has(entry.name)) await mkdir(to, { mode: 0o700 });
    else if (entry.isDirectory()) await copyTree(from, to);
    else await copyFile(from, to).catch(ignoreVanished);
  }
}

function ignoreVanished(error: unknown): void {
  if (errorCode(error) !== 'ENOENT') throw error;
}

function connectionInfo({ primary, name }: ReplicaPlan): string {
  const { hostname, port, username, password } = new URL(primary);
  const parts = { host: hostname, port, user: username, password, application_name: name };
  const quoted = (value: string) => `'${decodeURIComponent(value).replaceAll(/['\\]/g, String.raw`\$&`)}'`;
  return Object.entries(parts)
    .map(([key, value]) => `${key}=${quoted(value)}`)
    .join(' ');
}
