import { spawn } from 'node:child_process';

export interface TerminalCall {
  /** A program and its arguments; no single quotes in them. */
  readonly command: readonly string[];
  readonly cwd: string;
  /** What is asked there, and what is typed then, once. */
  readonly question: string;
  readonly answer: string;
  readonly timeoutMs: number;
}

/** Runs a command on a terminal that util-linux makes, to its end. */
export async function onTerminal({
  command,
  cwd,
  question,
  answer,
  timeoutMs,
}: TerminalCall): Promise<{ code: number; said: string }> {
  const child = spawn('script', ['-qec', command.map((word) => `'${word}'`).join(' '), '/dev/null'], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TERM: 'dumb', NO_COLOR: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  let said = '';
  let answered = false;
  child.stdout.on('data', (text: Buffer) => {
    said += text.toString();
    if (answered || !said.includes(question)) return;
    answered = true;
    child.stdin.write(answer);
  });
  const code = await new Promise<number>((done) => child.once('close', (status) => done(status ?? -1)));
  return { code, said };
}
