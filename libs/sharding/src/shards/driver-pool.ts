import type { DataSource } from 'typeorm';
import type { BackendKey } from './cancel-request.js';

/** Connections of one pool right now. */
export interface PoolStats {
  readonly max: number;
  readonly active: number;
  readonly idle: number;
  /** Callers that wait for a connection. */
  readonly waiting: number;
}

/** What is used of `pg-pool`. */
interface Pool {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
  /** Connections that wait, and how the pool itself drops one; private, and used as it does. */
  readonly _idle?: readonly { readonly client: object }[];
  _remove?(client: object): void;
  end(): Promise<void>;
  on(event: 'release', listener: () => void): void;
  off(event: 'release', listener: () => void): void;
}

export function poolOf(source: DataSource): Pool | undefined {
  return (source.driver as unknown as Driver).master;
}

/** What is used of TypeORM's driver. */
interface Driver {
  master?: Pool | undefined;
  readonly connectedQueryRunners: readonly ConnectedRunner[];
}

interface ConnectedRunner {
  readonly databaseConnection: BackendKey;
  releasePostgresConnection(error: Error): Promise<void>;
}

/** The runners that hold a connection now. */
export function runnersOf(source: DataSource): ConnectedRunner[] {
  return (source.driver as unknown as Driver).connectedQueryRunners.slice();
}

/** Ends the connections that nobody uses. */
export function dropIdle(source: DataSource): void {
  const pool = poolOf(source);
  for (const { client } of pool?._idle?.slice() ?? []) pool?._remove?.(client);
}

/** Ends the connections that are still in use: their statements reject. */
export async function discardRunners(source: DataSource, reason: string): Promise<void> {
  const { connectedQueryRunners } = source.driver as unknown as Driver;
  for (const runner of connectedQueryRunners.slice())
    await runner.releasePostgresConnection(new Error(reason));
}

/**
 * Connects within `limitMs`, also where the server stops answering half-way. TypeORM leaves the pool open when a step
 * after its creation fails: it is ended, so that a retry starts clean.
 */
export async function initialize(source: DataSource, limitMs: number): Promise<DataSource> {
  const late = setTimeout(() => void discardRunners(source, 'opening took too long'), limitMs);
  try {
    return await source.initialize();
  } catch (error) {
    await discardRunners(source, 'opening failed');
    const driver = source.driver as unknown as Driver;
    await driver.master?.end().catch(() => undefined); // already ended by TypeORM's own cleanup
    driver.master = undefined;
    throw error;
  } finally {
    clearTimeout(late);
  }
}

/** Resolves when nobody uses or waits for a connection, at the latest after `timeoutMs`. */
export async function drained(pool: Pool | undefined, timeoutMs: number): Promise<void> {
  if (!pool) return;
  const quiet = () => pool.totalCount === pool.idleCount && pool.waitingCount === 0;
  if (quiet()) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      pool.off('release', check);
      resolve();
    };
    const check = () => setImmediate(() => quiet() && done());
    const timer = setTimeout(done, timeoutMs);
    pool.on('release', check);
  });
}
