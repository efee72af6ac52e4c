import { execFile } from 'node:child_process';
import { appendFile, chown, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { PostgresBinaries } from './postgres-binaries.js';
import { createScratchDirectory, removeScratchDirectory } from './scratch-directory.js';
import type { ServerUser } from './server-user.js';
import { unmountBelow } from './small-disk.js';

const run = promisify(execFile);

export const SUPERUSER = 'postgres';
export const PASSWORD = 'secret';

/** Configuration parameters by name. */
export type Settings = Readonly<Record<string, string>>;

/** Kills lose nothing without fsync, since the operating system keeps the pages; only a power cut would. */
export const DEFAULT_SETTINGS: Settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  shared_buffers: '32MB',
  dynamic_shared_memory_type: 'mmap',
  huge_pages: 'off',
  io_method: 'sync',
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'on',
  wal_level: 'replica',
  max_wal_size: '256MB',
  wal_keep_size: '64MB',
  max_wal_senders: '5',
  hot_standby: 'on',
  wal_retrieve_retry_interval: '100ms',
};

/** Environment of every program that is run: nothing of the caller's settings (PGHOST, LANG ...) gets through. */
export const SERVER_ENVIRONMENT = { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' };

/** Where the database files are below the directory of a server. */
export function dataOf(directory: string): string {
  return join(directory, 'data');
}

/** Creates the directory of a new server with an initialised database cluster; returns its path. */
export async function createDataDirectory({ initdb, user }: PostgresBinaries): Promise<string> {
  const directory = await createScratchDirectory(user);
  const passwordFile = join(directory, 'password');
  const options = ['--no-sync', '--no-instructions', '--encoding=UTF8', '--locale=C', '--wal-segsize=1'];
  const access = [`--username=${SUPERUSER}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  const cheap = ['-c', 'scram_iterations=1']; // a third of the time that a client takes to connect, tens of thousands of times
  try {
    await writeFile(passwordFile, PASSWORD);
    await giveTo(user, passwordFile);
    await run(initdb, ['-D', dataOf(directory), ...options, ...access, ...cheap], {
      ...user,
      cwd: directory,
      env: SERVER_ENVIRONMENT,
      timeout: 60_000,
    });
  } catch (error) {
    await removeScratchDirectory(directory);
    throw error;
  }
  return directory;
}

/** Adds settings to `postgresql.conf`; the last one of a name counts, and `alter system` still wins over it. */
export async function writeSettings(directory: string, settings: Settings): Promise<void> {
  const lines = Object.entries(settings).map(
    ([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`,
  );
  await appendFile(join(dataOf(directory), 'postgresql.conf'), lines.join(''));
}

/** What the server writes about itself in `postmaster.pid`. */
export interface PostmasterFile {
  readonly pid: number;
  readonly sharedMemoryId: string | undefined;
  /** `starting`, `stopping`, `ready` or `standby` (answers read-only queries). */
  readonly status: string;
}

/** Reads `postmaster.pid`; undefined when there is none or it is not complete yet. */
export async function readPostmasterFile(directory: string): Promise<PostmasterFile | undefined> {
  const text = await readFile(join(dataOf(directory), 'postmaster.pid'), 'utf8').catch(() => '');
  const lines = text.split('\n').map((line) => line.trim());
  if (lines.length < 8) return undefined;
  return { pid: Number(lines[0]), sharedMemoryId: lines[6]?.split(/\s+/)[1], status: lines[7] ?? '' };
}

/**
 * Removes the directory of a server that no longer runs, unmounts its small disks, and removes the System V shared memory segment that a killed
 * server leaves (its number is in the `postmaster.pid` that such a server leaves too).
 */
export async function removeDataDirectory(directory: string): Promise<void> {
  const segment = (await readPostmasterFile(directory))?.sharedMemoryId;
  if (segment) await run('ipcrm', ['-m', segment]).catch(() => undefined);
  await unmountBelow(directory);
  await removeScratchDirectory(directory);
}

async function giveTo(user: ServerUser, path: string): Promise<void> {
  if (user.uid !== undefined) await chown(path, user.uid, user.gid);
}
