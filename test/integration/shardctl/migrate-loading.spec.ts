import { expect, it } from '@jest/globals';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Migrating } from './migrating.js';

const HOOK = `
import { writeSync } from 'node:fs';
export async function resolve(specifier, context, next) {
  const found = /^(typeorm$|@nestjs[/]common)/.exec(specifier);
  if (found) writeSync(2, 'loads ' + found[1] + '\\n');
  return next(specifier, context);
}`;

const migrating = Migrating.everyTest();

/** What a call loads of the two that take the longest. */
async function loads(...args: string[]): Promise<string[]> {
  const hook = join(migrating.cwd, 'hook.mjs');
  const register = join(migrating.cwd, 'register.mjs');
  await writeFile(hook, HOOK);
  await writeFile(
    register,
    `import { register } from 'node:module'; register('./hook.mjs', import.meta.url);`,
  );
  const environment = { NODE_OPTIONS: `--import=${pathToFileURL(register).href}` };
  const { code, err } = await migrating.runAs({ environment }, ...args);
  if (code !== 0 && args.length === 0) throw new Error(`migrate failed: ${err}`);
  return [...new Set(err.match(/(?<=^loads ).*$/gm) ?? [])].toSorted();
}

it('loads TypeORM and NestJS where something is pending, and nowhere else', async () => {
  expect(await loads('status')).toEqual([]);
  expect(await loads()).toEqual(['@nestjs/common', 'typeorm']);
  expect(await loads()).toEqual([]);
});
