import { AsyncResource } from 'node:async_hooks';
import { Socket } from 'node:net';
import pg from 'pg';

/** How many connections outside the pool one database may see at once: a health probe and a canceller. */
export const DEDICATED_CONNECTIONS = 2;

export interface DedicatedOptions {
  /** Host, port, user, password, database, TLS. */
  readonly config: pg.ClientConfig;
  readonly applicationName: string;
  /** Bound of everything together, connecting included. */
  readonly limitMs: number;
}

/**
 * Runs `work` on a connection of its own, outside the pool, and closes it. After `limitMs` the socket is destroyed
 * and the call rejects with `timeout expired`, whatever the server does.
 *
 * @throws the driver's error when connecting, or when `work` fails
 */
export function withDedicatedConnection<T>(
  options: DedicatedOptions,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const outside = new AsyncResource('nestjs-sharding.dedicated');
  return outside.runInAsyncScope(() => connectAndRun(options, work));
}

async function connectAndRun<T>(
  options: DedicatedOptions,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const socket = new Socket();
  const client = new pg.Client({
    ...options.config,
    application_name: options.applicationName,
    stream: () => socket,
  });
  client.on('error', () => undefined); // the pending call rejects with it
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('timeout expired')), options.limitMs);
  });
  const running = client.connect().then(() => work(client));
  running.catch(() => undefined); // when it loses the race its end is of no interest
  try {
    const value = await Promise.race([running, expired]);
    await Promise.race([client.end(), expired]).catch(() => undefined); // the answer is there; goodbye is a courtesy
    return value;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}
