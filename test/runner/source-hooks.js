import { transform } from '@swc/core';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import config from '../../jest.config.js';

/** Hooks of Node's module loader: TypeScript sources, found under the names that `jest.config.js` maps. */

const ROOT = new URL('../../', import.meta.url);
const MAPPED = Object.entries(config.moduleNameMapper)
  .filter(([, target]) => target.startsWith('<rootDir>/'))
  .map(([pattern, target]) => ({ pattern: new RegExp(pattern), target: target.replace('<rootDir>/', '') }));

export async function resolve(specifier, context, next) {
  const url = sourceOf(specifier, context.parentURL);
  return url === undefined ? next(specifier, context) : { url: url.href, shortCircuit: true };
}

function sourceOf(specifier, parent) {
  if (specifier === '@jest/globals') return globalsFor(parent);
  if (specifier.startsWith('.')) {
    const url = parent?.endsWith('.ts') && new URL(specifier.replace(/\.js$/, '.ts'), parent);
    return url && url.pathname.endsWith('.ts') && existsSync(url) ? url : undefined;
  }
  const found = MAPPED.find(({ pattern }) => pattern.test(specifier));
  return found && new URL(specifier.replace(found.pattern, found.target), ROOT);
}

function globalsFor(parent) {
  const isSpec = parent.endsWith('.spec.ts');
  return new URL(isSpec ? `spec-globals.js?for=${parent}` : 'live-globals.js', import.meta.url);
}

export async function load(url, context, next) {
  if (!new URL(url).pathname.endsWith('.ts')) return next(url, context);
  const filename = fileURLToPath(url);
  const source = await readFile(filename, 'utf8');
  const { code } = await transform(source, { filename, sourceMaps: 'inline' });
  return { format: 'module', source: code, shortCircuit: true };
}
