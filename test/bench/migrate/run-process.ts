import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const SHARDCTL = fileURLToPath(new URL('./shardctl.js', import.meta.url));
const LIMIT_MS = 300_000;
const MOST_OUTPUT = 16 * 2 ** 20;
const run = promisify(execFile);

/** What one process took, from its start until it had ended, and what it said. */
export interface ProcessEnd {
  readonly milliseconds: number;
  readonly out: string;
}

/** Runs Node with these arguments. @throws Error with what it said when its exit code is not 0 */
export async function runNode(args: readonly string[], cwd: string): Promise<ProcessEnd> {
  const began = performance.now();
  const { stdout: out } = await run(process.execPath, [...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'] }, // no configuration of the caller's
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
    maxBuffer: MOST_OUTPUT,
  });
  return { milliseconds: performance.now() - began, out };
}

export function runShardctl(args: readonly string[], cwd: string): Promise<ProcessEnd> {
  return runNode([SHARDCTL, ...args], cwd);
}
