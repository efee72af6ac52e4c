import { ConsoleLogger, type INestApplication } from '@nestjs/common';
import { expectNoConnections } from '@test/support';
import { bootApp, deployment, type Deployment } from '../../support/deployment.js';
import type { ShardingOptions } from '@app/sharding';

type Database = NonNullable<ShardingOptions['database']>;
export type ShardPart = Partial<NonNullable<Database['shards']>[number]>;

/** What the guard says at boot; the topology is told elsewhere. */
class Recorder extends ConsoleLogger {
  readonly lines: string[] = [];

  override printMessages(messages: unknown[], context = '', level = 'log'): void {
    if (level === 'warn' && context === 'ShardingModule') this.lines.push(...messages.map(String));
  }
}

/** Applications that boot one after the other over three shards and one control database, which remembers their maps. */
export class GuardedBoots {
  readonly #apps: INestApplication[] = [];

  private constructor(readonly databases: Deployment) {}

  static async create(): Promise<GuardedBoots> {
    return new GuardedBoots(await deployment(3));
  }

  /** One statement on the control database. */
  control(sql: string): Promise<Record<string, unknown>[]> {
    return this.databases.query('control', sql);
  }

  async forget(): Promise<void> {
    await this.control('truncate _sharding_map, _sharding_slot_moves');
  }

  /** Boots with as many shards as parts, `shard0`, `shard1` ... where the part says nothing; returns the warnings. */
  boot(parts: readonly ShardPart[], database: Partial<Database> = {}): Promise<string[]> {
    return this.#boot(this.databases.options({ shards: this.#shards(parts), ...database }));
  }

  /** The same without a control database. */
  bootAlone(parts: readonly ShardPart[]): Promise<string[]> {
    const { primaryUrl: _control, ...database } = this.databases.options().database as Database;
    return this.#boot({
      ...this.databases.options(),
      database: { ...database, shards: this.#shards(parts) },
    });
  }

  /** Each row of the map as `version: name (group,member) slots`. */
  async recorded(): Promise<string[]> {
    const rows = await this.control('select * from _sharding_map order by version, group_id, member');
    return rows.map(
      (row) =>
        `${row['version']}: ${row['shard_name']} (${row['group_id']},${row['member']}) ${row['slots']}${row['auto_split'] ? ' auto' : ''}`,
    );
  }

  async recordMove(source: string, destination: string, slots = '8001-8191'): Promise<void> {
    await this.control(
      `insert into _sharding_slot_moves (source, destination, group_id, slots)
        values ('${source}', '${destination}', 0, '${slots}')`,
    );
  }

  async close(): Promise<void> {
    for (const app of this.#apps.splice(0)) await app.close();
    await expectNoConnections(this.databases.control);
  }

  #shards(parts: readonly ShardPart[]) {
    return parts.map((part, index) => ({
      name: `shard${index}`,
      primaryUrl: this.databases.shards[index]!,
      ...part,
    }));
  }

  async #boot(options: Parameters<typeof bootApp>[0]): Promise<string[]> {
    const logger = new Recorder();
    this.#apps.push(await bootApp(options, {}, { logger }));
    return logger.lines;
  }
}
