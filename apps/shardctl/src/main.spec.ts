import { expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const { paths } = (JSON.parse(readFileSync('tsconfig.json', 'utf8')) as { compilerOptions: { paths: Paths } })
  .compilerOptions;
type Paths = Readonly<Record<string, readonly [string]>>;

const STATIC = /^(?:import|export)\s(?!type\s)[^;]*?from\s'([^']+)'|^import\s'([^']+)'/gm;

/** Packages that are loaded before the first word of `entry` runs; those behind `import()` are not. */
function packagesOf(entry: string, seen = new Set<string>()): Set<string> {
  if (seen.has(entry)) return new Set();
  seen.add(entry);
  const packages = new Set<string>();
  for (const [, from, bare] of readFileSync(entry, 'utf8').matchAll(STATIC)) {
    const name = from ?? bare ?? '';
    const file = name.startsWith('.')
      ? resolve(dirname(entry), name.replace(/\.js$/, '.ts'))
      : paths[name]?.[0];
    if (file === undefined) packages.add(name);
    else for (const inner of packagesOf(resolve(file), seen)) packages.add(inner);
  }
  return packages;
}

it.each([
  ['apps/shardctl/src/main.ts', ['commander']],
  ['apps/shardctl/src/configuration.ts', ['fastest-levenshtein', 'pg-connection-string', 'smol-toml']],
  ['libs/sharding/src/operator/index.ts', ['pg', 'pg-connection-string']],
])('%s loads few packages at once', (entry, packages) => {
  expect(existsSync(entry)).toBe(true);
  const loaded = [...packagesOf(resolve(entry))].filter((name) => !name.startsWith('node:'));
  expect(loaded.toSorted()).toEqual(packages);
});
