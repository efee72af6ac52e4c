import { execFile } from 'node:child_process';
import { chown, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { runOnce } from './admin-query.js';
import { createScratchDirectory, removeScratchDirectory } from './scratch-directory.js';
import { serverUser } from './server-user.js';

const run = promisify(execFile);

/** A disk of a few megabytes (tmpfs) that tables of a server can be put on: `create table ... tablespace <name>`. */
export class SmallDisk {
  private constructor(
    readonly tablespace: string,
    private readonly directory: string,
  ) {}

  /** Whether this process may mount one; else start the server with `maxFileBytes`. */
  static async isPossible(): Promise<boolean> {
    if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
    const directory = await createScratchDirectory({});
    try {
      await mount(directory, 1);
      await unmount(directory);
      return true;
    } catch {
      return false;
    } finally {
      await removeScratchDirectory(directory);
    }
  }

  /** @param at the directory of the server, which unmounts what is below when it is disposed of */
  static async mount(
    at: { readonly directory: string; readonly url: string },
    name: string,
    megabytes: number,
  ): Promise<SmallDisk> {
    const directory = join(at.directory, `disk-${name}`);
    const user = await serverUser();
    await mkdir(directory);
    await mount(directory, megabytes);
    await chown(directory, user.uid ?? -1, user.gid ?? -1);
    await runOnce(
      at.url,
      `create tablespace ${pg.escapeIdentifier(name)} location ${pg.escapeLiteral(directory)}`,
    );
    return new SmallDisk(name, directory);
  }

  /** Gives it another size: the operator has made room. */
  async resize(megabytes: number): Promise<void> {
    await run('mount', ['-o', `remount,size=${megabytes}m`, this.directory]);
  }
}

/** Unmounts whatever is mounted below a directory. */
export async function unmountBelow(directory: string): Promise<void> {
  const table = await readFile('/proc/mounts', 'utf8').catch(() => '');
  const points = table.split('\n').map((line) => line.split(' ')[1] ?? '');
  for (const point of points.filter((path) => path.startsWith(`${directory}/`))) await unmount(point);
}

async function mount(directory: string, megabytes: number): Promise<void> {
  await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', directory]);
}

/** Lazily: a process may still stand in it, and it is gone with that process. */
async function unmount(directory: string): Promise<void> {
  await run('umount', ['--lazy', directory]);
}
