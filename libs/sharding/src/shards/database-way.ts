import { AsyncResource } from 'node:async_hooks';
import { clientConfig } from '../database-url.js';
import { Secret } from '../secret.js';
import { described } from './database-failure.js';
import { within } from './work-scope.js';
import type { DataSource } from 'typeorm';
import type pg from 'pg';
import type { DatabaseSettings } from '../sharding.settings.js';
import type { PostgresOptions } from '../typeorm.options.js';

/** What a pool sends when it connects; a probe that did not would find a way that is closed to the pool. */
const STARTUP_PARAMETERS = [
  'options',
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
] as const;

interface WayParts {
  readonly label: string;
  readonly settings: DatabaseSettings;
  /** What the pool connects with, unless the application builds the `DataSource` itself. */
  readonly options: Pick<PostgresOptions, 'ssl' | 'extra'>;
  /** Gives the `DataSource` that the application builds, where it does. */
  readonly build: (() => Promise<DataSource>) | undefined;
}

/** How one database is reached outside of its pool; belongs to no request. */
export class DatabaseWay {
  readonly #parts: WayParts;
  readonly #outside = new AsyncResource('nestjs-sharding.way');

  constructor(parts: WayParts) {
    this.#parts = parts;
  }

  /** A transaction-mode pooler is in between, and `maintenance_url` leads around it. */
  get avoidsPooler(): boolean {
    const { pooler, maintenanceUrl } = this.#parts.settings;
    return pooler === 'transaction' && maintenanceUrl !== undefined;
  }

  /** What a connection calls itself. A transaction-mode pooler is sent no parameters. */
  applicationName(purpose: string): string | undefined {
    return this.avoidsPooler ? this.#named(purpose) : this.poolApplicationName(purpose);
  }

  /** The same by the way of the pool. */
  poolApplicationName(purpose: string): string | undefined {
    return this.#parts.settings.pooler === 'transaction' ? undefined : this.#named(purpose);
  }

  #named(purpose: string): string {
    return `nestjs-sharding ${purpose} ${this.#parts.label}`;
  }

  /** To the server itself, as far as the configuration knows. */
  direct(limitMs: number): Promise<pg.ClientConfig> {
    const { maintenanceUrl } = this.#parts.settings;
    if (!maintenanceUrl) return this.ofPool(limitMs);
    return this.#bounded(limitMs, async () => this.#configOf(maintenanceUrl));
  }

  /** The way of the pool. */
  ofPool(limitMs: number): Promise<pg.ClientConfig> {
    return this.#bounded(limitMs, () => this.#ofPool());
  }

  /** A `DataSource` that the application builds knows the way better than the configuration (rotating passwords). */
  async #ofPool(): Promise<pg.ClientConfig> {
    const { build, settings } = this.#parts;
    if (!build) return { ...this.#configOf(settings.url), ...startupParameters(this.#parts.options) };
    const built = (await build()).options as PostgresOptions;
    const parameters = startupParameters(built);
    if (built.url !== undefined) return { ...clientConfig(new Secret(built.url)), ...parameters };
    const { host, port, username: user, password, database, ssl } = built;
    return { host, port, user, password, database, ssl, ...parameters } as pg.ClientConfig;
  }

  #configOf(url: Secret): pg.ClientConfig {
    const ssl = this.#parts.options.ssl as pg.ClientConfig['ssl'];
    return { ...clientConfig(url), ...(ssl !== undefined && { ssl }) };
  }

  #bounded(limitMs: number, work: () => Promise<pg.ClientConfig>): Promise<pg.ClientConfig> {
    return this.#outside.runInAsyncScope(() =>
      within(`the way to ${described(this.#parts.label)}`, { deadlineMs: limitMs }, work),
    );
  }
}

function startupParameters({ extra }: Pick<PostgresOptions, 'extra'>): Record<string, unknown> {
  const given = (extra ?? {}) as Record<string, unknown>;
  return Object.fromEntries(
    STARTUP_PARAMETERS.flatMap((name) => (name in given ? [[name, given[name]]] : [])),
  );
}
