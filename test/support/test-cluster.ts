import { randomBytes } from 'node:crypto';
import pLimit from 'p-limit';
import pg from 'pg';
import { databaseOf, runOnce, withClient, withDatabase, type Row } from './admin-query.js';
import { countConnections, createDatabase, dropDatabase } from './databases.js';
import { waitFor } from './wait-for.js';

/** The environment variable that carries the shared server's address to the test files. */
export const CLUSTER_VARIABLE = 'SHARDING_TEST_CLUSTER';

/** What a test file must know about the shared server. */
export interface ClusterFacts {
  /** URL of the superuser in the database `postgres`. */
  readonly url: string;
}

/** The environment variable that says which test file runs: a worker loads this module once for all of its files. */
const FILE_VARIABLE = 'SHARDING_TEST_FILE';

/** What this process has left on the server before this file. */
const LEFT_BEHIND = `select datname as name from pg_database where datname ~ $1 and not datistemplate`;
const DROPS_AT_A_TIME = 8;

/** Longest identifier of PostgreSQL, in bytes. */
const MAX_NAME = 63;

/** Of this process. */
let attached: TestCluster | undefined;

/** The server that all test files share; each makes databases of its own on it. */
export class TestCluster {
  readonly #url: string;
  #sweep: { readonly file: string | undefined; readonly done: Promise<void> } | undefined;

  private constructor(facts: ClusterFacts) {
    this.#url = facts.url;
  }

  /** The server started by Jest's global set-up. */
  static attach(): TestCluster {
    const facts = process.env[CLUSTER_VARIABLE];
    if (!facts) throw new Error(`${CLUSTER_VARIABLE} is not set: the global set-up of the tests has not run`);
    return (attached ??= new TestCluster(JSON.parse(facts) as ClusterFacts));
  }

  /** A new database with a unique name, which lives as long as the test file; returns its URL. `label` shows in the name. */
  async createDatabase(
    options: { readonly template?: string; readonly label?: string } = {},
  ): Promise<string> {
    await this.#sweepOncePerFile();
    const name = uniqueName(options.label ?? 'test');
    await createDatabase(this.#url, name, options.template);
    return withDatabase(this.#url, name);
  }

  /**
   * Makes the template database `name` once for all test files: the first caller runs `prepare` on it, others wait.
   * `prepare` must close its connections. Returns the name for `createDatabase({ template })`.
   */
  async template(name: string, prepare: (url: string) => Promise<void>): Promise<string> {
    const template = `template_${name}`;
    await withClient(this.#url, async (client) => {
      await client.query('select pg_advisory_lock(hashtext($1))', [template]);
      const found = await client.query('select from pg_database where datname = $1', [template]);
      if (found.rowCount === 0) await this.#makeTemplate(template, prepare);
    });
    return template;
  }

  async dropDatabase(url: string): Promise<void> {
    await dropDatabase(this.#url, databaseOf(url));
  }

  /** Runs one statement as the superuser on a connection of its own. */
  async query(sql: string, params: readonly unknown[] = [], database = 'postgres'): Promise<Row[]> {
    return runOnce(withDatabase(this.#url, database), sql, params);
  }

  /** How many clients are connected to a database. */
  async connections(databaseUrl: string): Promise<number> {
    return countConnections(this.#url, databaseOf(databaseUrl));
  }

  #sweepOncePerFile(): Promise<void> {
    const file = process.env[FILE_VARIABLE];
    if (this.#sweep === undefined || this.#sweep.file !== file) {
      this.#sweep = { file, done: this.#dropLeftBehind() };
    }
    return this.#sweep.done;
  }

  /** Drops the databases of the test files that this process has run before, so that there are never more than a few. */
  async #dropLeftBehind(): Promise<void> {
    const left = await this.query(LEFT_BEHIND, [`_${process.pid}_[0-9a-f]{8}$`]);
    const inTurn = pLimit(DROPS_AT_A_TIME);
    await Promise.all(left.map(({ name }) => inTurn(() => dropDatabase(this.#url, String(name)))));
  }

  /** Prepares under another name, so that a template is complete or absent. */
  async #makeTemplate(template: string, prepare: (url: string) => Promise<void>): Promise<void> {
    const draft = uniqueName('draft');
    await createDatabase(this.#url, draft);
    try {
      const url = withDatabase(this.#url, draft);
      await prepare(url);
      await waitFor(async () => (await this.connections(url)) === 0, {
        what: `connections to ${template} to close`,
      });
      await this.query(
        `alter database ${pg.escapeIdentifier(draft)} rename to ${pg.escapeIdentifier(template)}`,
      );
      await this.query(
        `alter database ${pg.escapeIdentifier(template)} with is_template true allow_connections false`,
      );
    } catch (error) {
      await dropDatabase(this.#url, draft);
      throw error;
    }
  }
}

function uniqueName(label: string): string {
  const suffix = `_${process.pid}_${randomBytes(4).toString('hex')}`;
  return (
    label
      .replaceAll(/\W/g, '_')
      .toLowerCase()
      .slice(0, MAX_NAME - suffix.length) + suffix
  );
}
