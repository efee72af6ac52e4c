import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Of all repositories: some call others. */
const HERE = dirname(dirname(fileURLToPath(import.meta.url)));
const FRAMES = 12;

/** Where the code outside of the repositories is that called, as `directory/file.ts:12`; `unknown` where nothing tells. */
export function callSite(): string {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = FRAMES;
  const { stack = '' } = new Error('call site');
  Error.stackTraceLimit = stackTraceLimit;
  return siteOf(stack, HERE);
}

/** The first frame of a stack that is of a file outside of `directory`. */
export function siteOf(stack: string, directory: string): string {
  for (const line of stack.split('\n').slice(1)) {
    const [, file, row] = /(?:\(|at (?:async )?)(?:file:\/\/)?(\/[^()]+?):(\d+):\d+\)?$/.exec(line) ?? [];
    if (file === undefined || file.startsWith(directory)) continue;
    return `${file.split('/').slice(-2).join('/')}:${row}`;
  }
  return 'unknown';
}
