import { existsSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { compileSources } from './compile-sources.js';
import { waitFor } from './wait-for.js';

/** The environment variable that names the directory of a run, for what its test files share. */
export const COMPILED_VARIABLE = 'SHARDING_TEST_COMPILED';

const ROOT = resolve('.');
const SOURCES = [
  'libs/routing/src',
  'libs/sharding/src',
  'libs/actions/src',
  'libs/jobs/src',
  'apps/shardctl/src',
  'apps/bookmarks/src',
  'apps/wallets/src',
];
const TIMEOUT_MS = 60_000;

/**
 * The directory of the compiled libraries and applications, `apps/shardctl/src/main.js` and so on. They are compiled once for
 * all test files: by the first that asks, while others wait. It ends with the run, and what is put beside them too.
 */
export async function compiledSources(): Promise<string> {
  const directory = compiledDirectory();
  const done = join(directory, 'compiled');
  if (existsSync(done)) return directory;
  const isFirst = await mkdir(join(directory, 'compiling')).then(
    () => true,
    () => false,
  );
  if (!isFirst) {
    await waitFor(async () => existsSync(done), {
      what: 'the sources to be compiled',
      timeoutMs: TIMEOUT_MS,
    });
    return directory;
  }
  try {
    await compileAll(directory);
  } finally {
    await writeFile(done, ''); // who waits fails on what is missing
  }
  return directory;
}

/** Where {@link compiledSources} puts them. */
export function compiledDirectory(): string {
  const directory = process.env[COMPILED_VARIABLE];
  if (directory) return directory;
  throw new Error(`${COMPILED_VARIABLE} is not set: the global set-up of the tests has not run`);
}

async function compileAll(directory: string): Promise<void> {
  await compileSources(SOURCES, directory);
  await symlink(join(ROOT, 'node_modules'), join(directory, 'node_modules'));
  const { name } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { name: string };
  await writeFile(
    join(directory, 'package.json'),
    JSON.stringify({ name, version: '9.9.9', type: 'module' }),
  );
}
