import { DirectoryConnection, Shards } from '@app/sharding';
import { waitFor } from '@test/support';
import { withClient } from '../../support/admin-query.js';
import { bootApp, deployment } from '../../support/deployment.js';
import type { INestApplication, ModuleMetadata, NestApplicationOptions } from '@nestjs/common';
import type { ShardingRootOptions } from '@app/sharding';
import type { Deployment } from '../../support/deployment.js';

/** Two shards with a directory, for one test file; applications booted through it end with it. */
export class Placed {
  readonly #apps: INestApplication[] = [];

  private constructor(readonly databases: Deployment) {}

  static async create(shards = 2): Promise<Placed> {
    return new Placed(await deployment(shards));
  }

  /** @param sharding laid over the options of the deployment */
  async boot(
    { database, ...sharding }: ShardingRootOptions = {},
    parts?: ModuleMetadata,
    nest?: NestApplicationOptions,
  ): Promise<INestApplication> {
    const options = { ...this.databases.options(database), ...sharding } as Parameters<typeof bootApp>[0];
    const app = await bootApp(options, parts, nest);
    this.#apps.push(app);
    return app;
  }

  /** One statement on the control database. */
  control(sql: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]> {
    return this.databases.query('control', sql, params);
  }

  /** A row of the directory, by raw SQL, whatever its group was before. */
  async row(key: string, shard: string | null, group: number | null = null): Promise<void> {
    await this.#allowed(
      `insert into _sharding_directory (routing_key, shard_name, group_id) values ($1, $2, $3)
       on conflict (routing_key) do update set shard_name = excluded.shard_name, group_id = excluded.group_id`,
      [key, shard, group],
    );
  }

  /** Empties the directory and its log, and waits until the running applications know. */
  async clear(): Promise<void> {
    await this.#allowed('delete from _sharding_directory');
    await this.control('delete from _sharding_placement_log');
    await this.settled();
  }

  /** Every directory of every running application has the revision of the database. */
  async settled(): Promise<void> {
    const [row] = await this.control('select revision from _sharding_revision');
    const revision = Number(row?.['revision']);
    const directories = this.#apps.flatMap((app) => app.get(DirectoryConnection).opened);
    await waitFor(async () => directories.every(({ directory }) => directory.revision >= revision), {
      what: `the processes to route by revision ${revision}`,
    });
  }

  /** The log of the changes, as `who key from->to why`, a place as `shard/group`. */
  async log(): Promise<string[]> {
    const rows = await this.control('select * from _sharding_placement_log order by id');
    const place = (shard: unknown, group: unknown) => `${shard ?? '-'}/${group ?? '-'}`;
    return rows.map((row) => {
      const moved = `${place(row['from_shard'], row['from_group'])}->${place(row['to_shard'], row['to_group'])}`;
      return `${row['who']} ${row['routing_key']} ${moved} ${row['why'] ?? '-'}`;
    });
  }

  /** One statement on the control database that may take keys out of their groups. */
  #allowed(sql: string, params: unknown[] = []): Promise<void> {
    return withClient(this.databases.control, async (client) => {
      await client.query('set sharding.allow_group_change = on');
      await client.query(sql, params);
    });
  }

  async closeApps(): Promise<void> {
    for (const app of this.#apps.splice(0)) await app.close();
  }
}

/** Where keys live, by name, in the order of the keys; the code of the error where one has no place. */
export function placesOf(
  app: INestApplication,
  ...keys: (string | number | Uint8Array)[]
): Promise<string[]> {
  const shards = app.get(Shards);
  return Promise.all(
    keys.map((key) =>
      shards.shardFor(key).then(
        ({ name }) => name,
        (error: { code?: string; message: string }) => error.code ?? error.message,
      ),
    ),
  );
}
