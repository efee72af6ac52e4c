import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmod, cp, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDataDirectory, removeDataDirectory } from '../../support/data-directory.js';
import { installedPackage, resolveBinaries } from '../../support/postgres-binaries.js';

let directory: string;
let copies: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'nestjs-sharding-'));
  await chmod(directory, 0o755);
  copies = join(directory, 'copies');
  await mkdir(copies, { mode: 0o755 });
});

afterEach(() => rm(directory, { recursive: true }));

/** The installed package as if it had been installed elsewhere. */
async function install(): Promise<string> {
  const home = join(directory, 'home');
  const place = join(home, 'package');
  await cp(installedPackage(), place, { recursive: true, verbatimSymlinks: true });
  return place;
}

describe('the PostgreSQL programs', () => {
  it('run from where they are installed', async () => {
    const { postgres } = await resolveBinaries(installedPackage(), copies);
    expect(postgres).toBe(join(installedPackage(), 'native/bin/postgres'));
    expect(await readdir(copies)).toEqual([]);
  });

  it('run from one copy when the server user cannot get at them', async () => {
    const place = await install();
    await chmod(join(directory, 'home'), process.getuid?.() === 0 ? 0o700 : 0o755);
    await chmod(join(place, 'native/bin/postgres'), process.getuid?.() === 0 ? 0o755 : 0o644);
    const [first, second] = await Promise.all([
      resolveBinaries(place, copies),
      resolveBinaries(place, copies),
    ]);
    const third = await resolveBinaries(place, copies);
    expect([second, third]).toEqual([first, first]);
    expect(await readdir(copies)).toEqual([expect.stringMatching(/^nestjs-sharding-postgres-18.*-\d+$/)]);
    expect(first.postgres.startsWith(copies)).toBe(true);
    const data = await createDataDirectory(first);
    expect((await stat(join(data, 'data/PG_VERSION'))).isFile()).toBe(true);
    await removeDataDirectory(data);
  });

  it('get the library links that a skipped install script did not make', async () => {
    const place = await install();
    await rm(join(place, 'native/lib/libicuuc.so.60'));
    const { postgres } = await resolveBinaries(place, copies);
    expect(postgres.startsWith(copies)).toBe(true);
  });
});
