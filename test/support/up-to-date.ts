import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Whether `made` is there and newer than all of what it is made of: files, and directories with all that is below them. */
export function isUpToDate(made: string, sources: readonly string[]): boolean {
  if (!existsSync(made)) return false;
  const newest = Math.max(...sources.flatMap(filesOf).map((file) => statSync(file).mtimeMs));
  return statSync(made).mtimeMs > newest;
}

function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const entries = readdirSync(path, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
