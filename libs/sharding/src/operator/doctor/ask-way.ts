import { clientConfig } from '../../database-url.js';
import { sendCancelRequest, type BackendKey } from '../../shards/cancel-request.js';
import { withDedicatedConnection } from '../../shards/dedicated-connection.js';
import type pg from 'pg';
import type { Way } from './place.js';

export interface AskLimits {
  /** Of connecting, and of each statement. */
  readonly limitMs: number;
  /** Cancels on the server what is under way. */
  readonly signal: AbortSignal;
}

/** So many statements' time has one connection together. */
const STATEMENTS = 4;
const CANCEL_LIMIT_MS = 1000;

/**
 * Runs `work` on a connection of its own and closes it.
 *
 * @throws the driver's error; `timeout expired`
 */
export async function askWay<T>(
  way: Way,
  { limitMs, signal }: AskLimits,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const config = { ...clientConfig(way.url), connectionTimeoutMillis: limitMs };
  const options = { config, applicationName: applicationName(way), limitMs: limitMs * STATEMENTS };
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
function applicationName({ place: { label, settings }, name }: Way): string | undefined {
  if (settings.pooler === 'transaction' && name === 'url') return undefined;
  return `nestjs-sharding doctor ${label}`;
}

/** Runs `read` in a transaction of one snapshot that cannot write. It ends with a commit, or a rollback when `read` fails. */
export async function readOnly<T>(client: pg.Client, limitMs: number, read: () => Promise<T>): Promise<T> {
  await client.query(
    `start transaction isolation level repeatable read, read only; set local statement_timeout = ${limitMs}`,
  );
  try {
    const value = await read();
    await client.query('commit');
    return value;
  } catch (error) {
    await client.query('rollback').catch(() => undefined); // the connection is lost: the first error says so
    throw error;
  }
}
