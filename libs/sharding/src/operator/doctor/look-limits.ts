import type { AskOptions } from '../ask-way.js';

export interface LookLimits {
  /** Of connecting, and of each statement. */
  readonly limitMs: number;
  /** Cancels on the server what is under way. */
  readonly signal: AbortSignal;
}

/** So many statements' time has one connection together. */
const STATEMENTS = 4;

/** How the doctor asks. */
export function looking({ limitMs, signal }: LookLimits): AskOptions {
  return { limitMs: limitMs * STATEMENTS, connectMs: limitMs, signal, by: 'doctor' };
}
