import { bootApp, optionsOver } from '../../support/deployment.js';
import { deployed, type Deployed } from './deployed.js';
import type { Shardctl, ShardctlEnd } from '../../support/shardctl.js';

/** What the configuration says of a shard. */
export interface Part {
  readonly name?: string;
  readonly slots?: readonly string[];
  readonly member?: number;
}

export const TWO: readonly Part[] = [{ slots: ['0-8191'] }, { slots: ['8192-16383'] }];
export const SHRUNK: readonly Part[] = [{ slots: ['0-8000'] }, { slots: ['8001-16383'] }];

/** What `--json` says of a map that has not changed. */
export const NOTHING = { added: [], removed: [], identifiers: [], passed: [], numbered: [], slots: [] };
/** The change from {@link TWO} to {@link SHRUNK}. */
export const UNMOVED = { group: 0, from: 'shard0', to: 'shard1', slots: '8001-8191', verified: false };

/** Three shards under as many maps as one likes, and a control database that remembers them. */
export class Mapped {
  private constructor(
    private readonly shardctl: Shardctl,
    readonly place: Deployed,
  ) {}

  static async create(shardctl: Shardctl): Promise<Mapped> {
    return new Mapped(shardctl, await deployed(3));
  }

  async forget(): Promise<void> {
    await this.place.query('control', 'truncate _sharding_map, _sharding_slot_moves');
  }

  /** Runs `map` over as many shards as parts, `shard0`, `shard1` ... where the part says nothing. */
  run(parts: readonly Part[], ...args: string[]): Promise<ShardctlEnd> {
    return this.shardctl.run(['map', ...args], { toml: this.toml(parts) });
  }

  accept(parts: readonly Part[], ...args: string[]): Promise<ShardctlEnd> {
    return this.run(parts, 'accept', ...args);
  }

  /** Each row as `version: name member slots`. */
  async recorded(): Promise<string[]> {
    const rows = await this.place.query(
      'control',
      'select version, shard_name, member, slots from _sharding_map order by version, group_id, member',
    );
    return rows.map(
      (row) => `${row['version']}: ${row['shard_name']} ${row['member']} ${row['slots'] || 'drained'}`,
    );
  }

  /** Boots an application with a strict guard, and closes it. */
  async boot(parts: readonly Part[]): Promise<void> {
    const shards = parts.map(({ slots, ...part }, index) => ({
      name: `shard${index}`,
      primaryUrl: this.place.shards[index]!,
      ...(slots && { slots: [...slots] }),
      ...part,
    }));
    const app = await bootApp(optionsOver(this.place, { shards, slotMapGuard: 'strict' }));
    await app.close();
  }

  toml(parts: readonly Part[]): string {
    const shards = parts.map(({ name, slots, member }, index) =>
      [
        '[[database.shards]]',
        `name = "${name ?? `shard${index}`}"`,
        `primary_url = "${this.place.shards[index]}"`,
        ...(slots ? [`slots = ${JSON.stringify(slots)}`] : []),
        ...(member === undefined ? [] : [`member = ${member}`]),
      ].join('\n'),
    );
    return `[database]\nprimary_url = "${this.place.control}"\n${shards.join('\n')}`;
  }
}
