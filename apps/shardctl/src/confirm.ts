import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';

/** Whether somebody is there to answer. */
export function canConfirm(): boolean {
  return process.stdin.isTTY;
}

/** Asks on the terminal; everything but yes is no, also the end of the input. @throws AbortError when interrupted */
export async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  const asked = createInterface({ input: process.stdin, output: process.stderr, terminal: false }); // Ctrl+C stays a signal
  const ended = once(asked, 'close').then(() => '');
  try {
    const answer = await Promise.race([asked.question(`${question} [y/N] `, { signal }), ended]);
    return /^y(es)?$/i.test(answer);
  } finally {
    asked.close();
  }
}
