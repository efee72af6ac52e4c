import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { errorCode } from './error-code.js';
import { waitFor } from './wait-for.js';

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly state: string;
}

/** Whether the process exists and can still do something: a zombie nobody reaped is not alive. */
export function isAlive(pid: number): boolean {
  if (process.platform === 'linux') return (entryOf(pid)?.state ?? 'Z') !== 'Z';
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** The living direct children of a process. */
export function childrenOf(pid: number): number[] {
  return allProcesses()
    .filter((entry) => entry.parent === pid && entry.state !== 'Z')
    .map((entry) => entry.pid);
}

/** Sends a signal; a process that is gone already is fine. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

/** Waits until none of the processes is alive; false when some still are after `timeoutMs`. */
export async function areGone(pids: readonly number[], timeoutMs: number): Promise<boolean> {
  const check = async () => !pids.some(isAlive);
  return waitFor(check, { what: `the end of processes ${pids.join(', ')}`, timeoutMs, everyMs: 5 }).catch(
    () => false,
  );
}

function allProcesses(): ProcessEntry[] {
  if (process.platform !== 'linux') return listedByPs();
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => entryOf(Number(name)) ?? []);
}

/** Reads `/proc/<pid>/stat`: `pid (command) state parent ...`, where the command may contain blanks and brackets. */
function entryOf(pid: number): ProcessEntry | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state = 'Z', parent = '0'] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { pid, parent: Number(parent), state };
  } catch {
    return undefined;
  }
}

function listedByPs(): ProcessEntry[] {
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,state='], { encoding: 'utf8' });
  return table.split('\n').flatMap((line) => {
    const [pid, parent, state] = line.trim().split(/\s+/);
    return pid && parent && state
      ? [{ pid: Number(pid), parent: Number(parent), state: state.charAt(0) }]
      : [];
  });
}
