import { transformFile } from '@swc/core';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

const ROOT = resolve('.');

/**
 * Compiles every source below the folders, but for specs, into `directory`, without looking at types; `@app/x` becomes the
 * compiled index of that library.
 */
export async function compileSources(folders: readonly string[], directory: string): Promise<void> {
  for (const folder of folders) {
    const names = await readdir(join(ROOT, folder), { recursive: true });
    const sources = names.filter((name) => /(?<!\.(?:spec|contract|d))\.ts$/.test(name));
    await Promise.all(sources.map((name) => compile(join(folder, name), directory)));
  }
}

async function compile(source: string, directory: string): Promise<void> {
  const { code } = await transformFile(join(ROOT, source), { cwd: ROOT, sourceMaps: false });
  const target = join(directory, source.replace(/\.ts$/, '.js'));
  await mkdir(dirname(target), { recursive: true });
  await writeFile(
    target,
    code.replaceAll(/(['"])@app\/(\w+)((?:\/\w+)?)\1/g, `$1${directory}/libs/$2/src$3/index.js$1`),
  );
}
