import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';

/** What an abort is given to end a target: a server may be silent, and a migration may wait for something else. */
const ABORT_LIMIT_MS = 2000;

/** @returns what the work gives; undefined when an abort has not ended it in time, and nobody waits for it any more */
export async function endedBy<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (!signal) return work;
  const over = new AbortController();
  const late = async () => {
    if (!signal.aborted) await once(signal, 'abort', { signal: over.signal });
    await pause(ABORT_LIMIT_MS, undefined, { signal: over.signal });
  };
  const given = late().then(
    () => undefined,
    () => undefined, // the work has ended before
  );
  try {
    return await Promise.race([work, given]);
  } finally {
    over.abort();
  }
}
