import pg from 'pg';
import { errorCode } from './error-code.js';

const CONNECT_TIMEOUT_MS = 5_000;
const TOO_MANY_CONNECTIONS = '53300';

/** Idle sessions that take a server's connections away from everybody else. Whoever holds them calls `release()`. */
export class HeldConnections {
  readonly #clients: pg.Client[];

  private constructor(clients: pg.Client[]) {
    this.#clients = clients;
  }

  /** Opens `count` sessions, or as many as the server takes. */
  static async open(url: string, count = Infinity): Promise<HeldConnections> {
    const held = new HeldConnections([]);
    try {
      while (held.count < count) held.#clients.push(await connect(url));
    } catch (error) {
      if (count === Infinity && errorCode(error) === TOO_MANY_CONNECTIONS) return held;
      await held.release();
      throw error;
    }
    return held;
  }

  get count(): number {
    return this.#clients.length;
  }

  /** Closes them; may be called again. */
  async release(): Promise<void> {
    await Promise.all(this.#clients.splice(0).map((client) => client.end().catch(() => undefined)));
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'test-held',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
