import { failureCode } from '../shards/database-failure.js';
import type { Database } from '../shards/database.js';

/** Whether one database answers now. `detail` has no host, no user and no secret. */
export interface ProbeResult {
  readonly ready: boolean;
  readonly detail: string;
}

/**
 * Asks primaries whether they answer and take writes, each on a connection of its own outside the pools: a busy pool is not a failure.
 * Concurrent questions about one database share one probe, so that many pollers cost one connection.
 */
export class DatabaseProbe {
  readonly #running = new Map<Database, Promise<ProbeResult>>();

  /** @param timeoutMs bound of one probe, connecting included */
  constructor(private readonly timeoutMs: number) {}

  /** Never rejects. */
  probe(database: Database): Promise<ProbeResult> {
    const running = this.#running.get(database);
    if (running) return running;
    const probe = this.ping(database).finally(() => this.#running.delete(database));
    this.#running.set(database, probe);
    return probe;
  }

  private async ping(database: Database): Promise<ProbeResult> {
    try {
      const { rows } = await database.probe('health', this.timeoutMs, (client) =>
        client.query<{ mode: string }>("select current_setting('transaction_read_only') as mode"),
      );
      if (rows[0]?.mode === 'on') return { ready: false, detail: 'is read-only: it is no primary any more' };
      return { ready: true, detail: 'answers' };
    } catch (error) {
      const timedOut = error instanceof Error && error.message === 'timeout expired';
      const reason = timedOut
        ? `no answer within ${this.timeoutMs} ms`
        : (failureCode(error) ?? 'connection failed');
      return { ready: false, detail: reason };
    }
  }
}
