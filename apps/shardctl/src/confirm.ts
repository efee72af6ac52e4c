import { createInterface } from 'node:readline/promises';

/** Whether somebody is there to answer. */
export function canConfirm(): boolean {
  return process.stdin.isTTY;
}

/** Asks on the terminal; everything but yes is no. @throws AbortError when interrupted */
export async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  const asked = createInterface({ input: process.stdin, output: process.stderr, terminal: false }); // Ctrl+C stays a signal
  try {
    return /^y(es)?$/i.test(await asked.question(`${question} [y/N] `, { signal }));
  } finally {
    asked.close();
  }
}
