import { isConnectionFailure, isSilence } from './database-failure.js';
import { isPureRead } from './reads/pure-read.js';
import { firstWords } from './sql-text.js';

/** What the server does whole or not at all, and says so when it ends the session instead. */
const ATOMIC = new Set(['insert', 'update', 'delete', 'merge', 'select', 'with', 'values']);

/**
 * Whether a statement outside of a transaction may have been done although it failed with `error`: its answer was lost, or
 * the session was ended while something ran that commits inside itself (CALL, DO, several statements).
 */
export function mayBeDone(sql: string, error: unknown): boolean {
  if (!isConnectionFailure(error) || isPureRead(sql)) return false;
  if (isSilence(error)) return true;
  const [first, ...more] = firstWords(sql);
  return first === undefined || more.length > 0 || !ATOMIC.has(first);
}
