import { beforeEach, jest } from '@jest/globals';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CONTROL_MIGRATIONS, SHARD_MIGRATIONS } from '@app/sharding';
import { TestCluster } from '@test/support';
import { Shardctl, type ShardctlCall, type ShardctlEnd } from '../../support/shardctl.js';

export const CONTROL = CONTROL_MIGRATIONS.map(({ name }) => name);
export const SHARD = SHARD_MIGRATIONS.map(({ name }) => name);
export const ONE = 'CreateNotes1700000000001';
export const TWO = 'IndexNotes1700000000002';

/** Fresh databases for each test, control and three shards, with a configuration that names a folder of migrations. */
export class Migrating {
  readonly cluster = TestCluster.attach();
  /** Control first. */
  urls: string[] = [];
  readonly #shardctl = Shardctl.attach();
  /** Where the configuration is. */
  cwd = '';

  /** To be called once a file, outside of its tests. */
  static everyTest(): Migrating {
    jest.setTimeout(90_000); // each call loads TypeORM and NestJS
    const migrating = new Migrating();
    beforeEach(() => migrating.#begin());
    return migrating;
  }

  run(...args: string[]): Promise<ShardctlEnd> {
    return this.runAs({}, ...args);
  }

  /** The same with something unusual about the process. */
  runAs(call: ShardctlCall, ...args: string[]): Promise<ShardctlEnd> {
    return this.#shardctl.run(['migrate', ...args], { cwd: this.cwd, ...call });
  }

  /** Puts a migration of the shards into the folder. */
  async migration(name: string, up: string, down = 'select 1', more = ''): Promise<void> {
    const text = `export class ${name} { ${more} async up(r) { await r.query(${JSON.stringify(up)}); } async down(r) { await r.query(${JSON.stringify(down)}); } }`;
    await writeFile(join(this.cwd, 'migrations', `${name}.mjs`), text);
  }

  async withoutFolder(): Promise<void> {
    await rm(join(this.cwd, 'migrations'), { recursive: true });
  }

  async #begin(): Promise<void> {
    this.urls = [];
    for (const label of ['control', 'shard0', 'shard1', 'shard2'])
      this.urls.push(await this.cluster.createDatabase({ label }));
    this.cwd = await this.#shardctl.workingDirectory(this.#toml());
    await mkdir(join(this.cwd, 'migrations'));
    await this.migration(ONE, 'create table notes (id uuid)', 'drop table notes');
  }

  #toml(): string {
    const [control, ...shards] = this.urls;
    return [
      `[database]\nprimary_url = "${control}"\nconnect_timeout_ms = 2000`,
      ...shards.map((url, index) => `[[database.shards]]\nname = "shard${index}"\nprimary_url = "${url}"`),
      '[migrations]\nshards = ["migrations/*.mjs"]',
    ].join('\n');
  }
}

/** Times are not the same twice, nor are the columns that depend on them. */
export function steady({ code, out, err }: ShardctlEnd) {
  const text = out.replaceAll(/\d+ ms/g, 'N ms').replaceAll(/ {2,}/g, '  ');
  return { code, out: text.trimEnd().split('\n'), err: err.trimEnd().split('\n') };
}

/** What `--json` says of each target. */
export const targets = (out: string) => (JSON.parse(out) as { targets: Record<string, unknown>[] }).targets;
