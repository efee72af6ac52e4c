import { AsyncResource } from 'node:async_hooks';
import { Socket } from 'node:net';
import pg from 'pg';

export interface DedicatedOptions {
  /** Host, port, user, password, database, TLS. */
  readonly config: pg.ClientConfig;
  /** Not sent where a pooler takes no parameters. */
  readonly applicationName: string | undefined;
  /** Bound of everything together, connecting included. */
  readonly limitMs: number;
}

/** A connection outside of every pool. `destroy()` always ends it, whatever the server does. */
export interface DedicatedConnection {
  readonly client: pg.Client;
  /** `timeout expired` after `limitMs`; the connection is then not to be used any more. */
  within<T>(limitMs: number, step: Promise<T>): Promise<T>;
  destroy(): void;
  /** Whether it keeps the process alive; it does until it is told otherwise. */
  ref(): void;
  unref(): void;
}

/** Long statements are silent: the network alone tells that the server is gone. */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 10_000 };

/** A server that has fallen silent does not answer this either. */
const GOODBYE_MS = 1000;

/** Not connected yet: `client.connect()`. It belongs to no request. */
export function dedicatedConnection(
  config: pg.ClientConfig,
  applicationName: string | undefined,
): DedicatedConnection {
  const socket = new Socket();
  const client = new pg.Client({
    ...config,
    ...KEEP_ALIVE,
    ...(applicationName !== undefined && { application_name: applicationName }),
    stream: () => socket,
  });
  client.on('error', () => undefined); // the pending call rejects with it
  return {
    client,
    within,
    destroy: () => void socket.destroy(),
    ref: () => void socket.ref(),
    unref: () => void socket.unref(),
  };
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
  { config, applicationName, limitMs }: DedicatedOptions,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const { client, destroy } = dedicatedConnection(config, applicationName);
  const ends = performance.now() + limitMs;
  try {
    const value = await within(
      limitMs,
      client.connect().then(() => work(client)),
    );
    const left = Math.max(1, Math.min(GOODBYE_MS, ends - performance.now()));
    await within(left, client.end()).catch(() => undefined); // the answer is there; goodbye is a courtesy
    return value;
  } finally {
    destroy();
  }
}

async function within<T>(limitMs: number, step: Promise<T>): Promise<T> {
  step.catch(() => undefined); // when it loses the race its end is of no interest
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('timeout expired')), limitMs);
  });
  try {
    return await Promise.race([step, expired]);
  } finally {
    clearTimeout(timer);
  }
}
