import { underSignal } from '../shards/work-scope.js';
import type { ServerResponse } from 'node:http';

/** Runs the rest of a request; a client that goes away before its answer is complete cancels the statements of it. */
export function cancelledOnDisconnect(response: ServerResponse, work: () => void): void {
  const gone = new AbortController();
  const look = () => {
    if (!response.writableEnded) gone.abort();
  };
  if (response.destroyed) look(); // while somebody before has worked on it
  response.once('close', look);
  underSignal('the request', gone.signal, work);
}
