import { clientConfig } from '../database-url.js';
import { sendCancelRequest, type BackendKey } from '../shards/cancel-request.js';
import { withDedicatedConnection } from '../shards/dedicated-connection.js';
import type pg from 'pg';
import type { Way } from './place.js';

export interface AskOptions {
  /** Of everything together, connecting included. */
  readonly limitMs: number;
  /** Of connecting alone, where that is less. */
  readonly connectMs?: number;
  /** Cancels on the server what is under way. */
  readonly signal: AbortSignal;
  /** Who asks; the server shows it. */
  readonly by: 'shardctl' | 'doctor';
}

const CANCEL_LIMIT_MS = 1000;

/**
 * Runs `work` on a connection of its own and closes it.
 *
 * @throws the driver's error; `timeout expired`; the reason of an abort before it was sent
 */
export async function askWay<T>(
  way: Way,
  { limitMs, connectMs = limitMs, signal, by }: AskOptions,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const config = { ...clientConfig(way.url), connectionTimeoutMillis: connectMs };
  const options = { config, applicationName: applicationName(way, by), limitMs };
  return withDedicatedConnection(options, async (client) => {
    const cancel = () =>
      void sendCancelRequest(config, backendKey(client), CANCEL_LIMIT_MS).catch(() => undefined);
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return await work(client);
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  });
}

/** What the server, or a pooler, has given the session to be cancelled by; the types of `pg` do not say that it is there. */
export function backendKey(client: pg.Client): BackendKey {
  return client as unknown as BackendKey;
}

/** A transaction-mode pooler is sent no parameters. */
function applicationName({ place: { label, settings }, name }: Way, by: string): string | undefined {
  if (settings.pooler === 'transaction' && name === 'url') return undefined;
  return `nestjs-sharding ${by} ${label}`;
}
