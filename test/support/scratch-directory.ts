import { chown, mkdtemp, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { janitor } from './janitor.js';
import type { ServerUser } from './server-user.js';

const PREFIX = 'nestjs-sharding-';

/** A new directory (mode 0700) of `user` below the system's temporary directory; the janitor knows it. */
export async function createScratchDirectory(user: ServerUser): Promise<string> {
  const directory = await mkdtemp(join(await scratchRoot(user), PREFIX));
  janitor.keep(directory);
  if (user.uid !== undefined) await chown(directory, user.uid, user.gid);
  return directory;
}

/** Removes a directory made by {@link createScratchDirectory}; one that is gone already is fine. */
export async function removeScratchDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  janitor.forget(directory);
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
