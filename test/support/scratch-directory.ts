import { access, chown, constants, mkdtemp, realpath, rm, stat, statfs } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { janitor } from './janitor.js';
import type { ServerUser } from './server-user.js';

const PREFIX = 'nestjs-sharding-';

/** The environment variable that names another place for scratch directories. */
export const SCRATCH_VARIABLE = 'SHARDING_TEST_SCRATCH';

/** A directory in memory, on Linux. */
const IN_MEMORY = '/dev/shm';
/** Far more than the databases of three test files and their servers. */
const ENOUGH_BYTES = 4 * 2 ** 30;

/** A new directory (mode 0700) of `user` below the system's temporary directory, or the named one; the janitor knows it. */
export async function createScratchDirectory(user: ServerUser): Promise<string> {
  const root = process.env[SCRATCH_VARIABLE] || (await scratchRoot(user));
  const directory = await mkdtemp(join(root, PREFIX));
  janitor.keep(directory);
  if (user.uid !== undefined) await chown(directory, user.uid, user.gid);
  return directory;
}

/** Removes a directory made by {@link createScratchDirectory}; one that is gone already is fine. */
export async function removeScratchDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  janitor.forget(directory);
}

/**
 * Where databases are made several times as fast as on a disk; undefined where there is no such place, where memory is scarce,
 * and where TMPDIR says what is wanted.
 */
export async function scratchInMemory(): Promise<string | undefined> {
  if (process.env['TMPDIR']) return undefined;
  try {
    await access(IN_MEMORY, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = await statfs(IN_MEMORY);
    const free = Math.min(bavail * bsize, process.availableMemory?.() ?? freemem());
    return free < ENOUGH_BYTES ? undefined : IN_MEMORY;
  } catch {
    return undefined;
  }
}

/** The temporary directory, or /tmp when `user` cannot get into the configured one. */
export async function scratchRoot(user: ServerUser): Promise<string> {
  const configured = await realpath(tmpdir());
  return (await canEnter(configured, user)) ? configured : '/tmp';
}

/** Whether the mode bits let `user` pass through every directory of the path. */
async function canEnter(directory: string, user: ServerUser): Promise<boolean> {
  if (user.uid === undefined) return true;
  const { mode, uid, gid } = await stat(directory);
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  if ((mode & bit) === 0) return false;
  return directory === dirname(directory) || canEnter(dirname(directory), user);
}
