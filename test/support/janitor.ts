import { spawn, type ChildProcess } from 'node:child_process';

/** One line to the janitor. `pid` is the postmaster whose data is in `<directory>/data`, when there is one. */
type Order = { readonly keep: string; readonly pid?: number } | { readonly forget: string };

/**
 * Cleans up after this process however it ends, by SIGKILL too. It is a process of its own (and of its own session,
 * so Ctrl-C does not reach it) that reads orders from a pipe. When the pipe ends, because we are gone, it stops the
 * servers and removes the directories that were not forgotten. It lives only while something is registered.
 */
class Janitor {
  readonly #directories = new Set<string>();
  #process: ChildProcess | undefined;

  /** From now on `directory`, and the server `pid` that works in it, do not outlive this process. */
  keep(directory: string, pid?: number): void {
    this.#directories.add(directory);
    this.#send({ keep: directory, ...(pid === undefined ? {} : { pid }) });
  }

  /** The directory was disposed of in the regular way. */
  forget(directory: string): void {
    if (!this.#directories.delete(directory)) return;
    this.#send({ forget: directory });
    if (this.#directories.size > 0) return;
    this.#process?.stdin?.end();
    this.#process = undefined;
  }

  #send(order: Order): void {
    this.#process ??= startProcess();
    this.#process.stdin?.write(`${JSON.stringify(order)}\n`);
  }
}

/** The janitor of this process. */
export const janitor = new Janitor();

/** The program is handed over as text: there is no file that must be found from sources and from a build alike. */
function startProcess(): ChildProcess {
  const child = spawn(process.execPath, ['--input-type=commonjs', '-e', `(${janitorProgram.toString()})()`], {
    cwd: '/',
    env: { PATH: process.env['PATH'] },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.stdin?.on('error', () => undefined);
  child.on('error', () => undefined);
  child.unref();
  if (child.stdin && 'unref' in child.stdin && typeof child.stdin.unref === 'function') child.stdin.unref();
  return child;
}

/** Runs alone in its own process: it must not use anything from outside its body. */
/* istanbul ignore next */
function janitorProgram(): void {
  const fs = process.getBuiltinModule('node:fs');
  const { execFileSync } = process.getBuiltinModule('node:child_process');
  const kept = new Map<string, number | undefined>();
  const attempt = <T>(work: () => T): T | undefined => {
    try {
      return work();
    } catch {
      return undefined;
    }
  };
  const read = (file: string) => attempt(() => fs.readFileSync(file, 'latin1')) ?? '';
  const onLinux = process.platform === 'linux';
  const ps = (...args: string[]) => attempt(() => execFileSync('ps', args, { encoding: 'latin1' })) ?? '';
  const commandOf = (pid: number) =>
    onLinux ? read(`/proc/${pid}/cmdline`) : ps('-p', String(pid), '-o', 'command=');
  const isAlive = (pid: number) =>
    attempt(() => process.kill(pid, 0)) === true && !/\) Z /.test(read(`/proc/${pid}/stat`));
  const childrenOf = (pid: number): number[] => {
    const rows = onLinux
      ? fs.readdirSync('/proc').map((entry) => read(`/proc/${entry}/stat`).replace(/ \(.*\) \S+ /s, ' '))
      : ps('-A', '-o', 'pid=,ppid=').split('\n');
    return rows
      .map((row) => row.trim().split(/\s+/).map(Number))
      .flatMap(([child, parent]) => (child && parent === pid ? [child] : []));
  };
  const signalAll = (pids: number[], signal: NodeJS.Signals) =>
    pids.forEach((pid) => attempt(() => process.kill(pid, signal)));
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  const endServer = async (directory: string, pid: number) => {
    if (!commandOf(pid).includes(`${directory}/data`)) return;
    const all = [pid, ...childrenOf(pid)];
    signalAll(all, 'SIGCONT');
    signalAll([pid], 'SIGQUIT');
    for (let i = 0; i < 100 && all.some(isAlive); i++) await pause(20);
    signalAll(all.filter(isAlive), 'SIGKILL');
  };
  const removeSegment = (directory: string) => {
    const segment = read(`${directory}/data/postmaster.pid`).split('\n')[6]?.trim().split(/\s+/)[1];
    if (segment) attempt(() => execFileSync('ipcrm', ['-m', segment], { stdio: 'ignore' }));
  };
  const unmountBelow = (directory: string) =>
    read('/proc/mounts')
      .split('\n')
      .map((line) => line.split(' ')[1] ?? '')
      .filter((point) => point.startsWith(`${directory}/`))
      .forEach((point) => attempt(() => execFileSync('umount', ['--lazy', point], { stdio: 'ignore' })));
  const cleanUp = async (directory: string, pid: number | undefined) => {
    if (pid !== undefined) await endServer(directory, pid);
    removeSegment(directory);
    unmountBelow(directory);
    attempt(() => fs.rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  };

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  let text = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk) => {
    const lines = (text + String(chunk)).split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) {
      const order = JSON.parse(line) as Order;
      if ('keep' in order) kept.set(order.keep, order.pid);
      else kept.delete(order.forget);
    }
  });
  process.stdin.on('close', () => {
    void Promise.all([...kept].map(([directory, pid]) => cleanUp(directory, pid))).then(() =>
      process.exit(0),
    );
  });
}
