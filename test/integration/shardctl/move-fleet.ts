import { slotOf } from '@app/routing';
import { MovingFleet, type MovingParts } from '../../support/moving-fleet.js';
import { Shardctl, type ShardctlCall, type ShardctlEnd } from '../../support/shardctl.js';
import type { MoveRequest } from '@app/sharding/operator';

export const CERTIFICATE_SECRET = 'hush-hush-hush-hush-hush-hush-hush-hush';

const KEYS = Array.from({ length: 200 }, (_, index) => `tenant-${index}`);
/** Tenants of the lower half of the slots, each in another slot. */
export const [ACME = '', GLOBEX = '', HOOLI = ''] = KEYS.filter((key) => slotOf(key) < 8192);

/** Databases of which rows are moved by processes. */
export class MoveFleet {
  readonly #shardctl = Shardctl.attach();

  private constructor(
    readonly fleet: MovingFleet,
    readonly toml: string,
  ) {}

  /** @param database further lines of `[database]` */
  static async create(database = '', parts: MovingParts = {}): Promise<MoveFleet> {
    const fleet = await MovingFleet.create(parts);
    return new MoveFleet(fleet, tomlOf(fleet, database));
  }

  run(...args: string[]): Promise<ShardctlEnd> {
    return this.runAs({}, ...args);
  }

  async runAs(call: ShardctlCall, ...args: string[]): Promise<ShardctlEnd> {
    return this.#shardctl.run(args, { toml: this.toml, ...call });
  }

  /** What `--json` says. */
  async json<T = Record<string, unknown>>(...args: string[]): Promise<T> {
    const { out, err, code } = await this.run(...args, '--json');
    if (out === '') throw new Error(`exit code ${code}: ${err}`);
    return JSON.parse(out) as T;
  }

  /** Gives tenants rows at shard0, and nothing else. */
  async fill(rows: Readonly<Record<string, number>>): Promise<void> {
    await this.fleet.query(
      'control',
      'truncate _sharding_moves, _sharding_move_subjects, _sharding_slot_moves',
    );
    await this.fleet.query('control', 'delete from _sharding_directory');
    for (const place of this.fleet.shards.keys()) {
      await this.fleet.query(place, 'truncate _sharding_move_sides, _sharding_fence');
      await this.fleet.query(place, 'truncate bookmarks');
    }
    for (const [tenant, count] of Object.entries(rows)) {
      await this.fleet.query(
        0,
        `insert into bookmarks (tenant_id, url) select $1, 'https://hush.test/' || n from generate_series(1, $2::int) n`,
        [tenant, count],
      );
    }
  }

  /** Rows of a tenant by shard. */
  counts(tenant: string): Promise<number[]> {
    return Promise.all(
      this.fleet.shards.map(async (_url, place) => {
        const [row] = await this.fleet.query(
          place,
          'select count(*)::int as rows from bookmarks where tenant_id = $1',
          [tenant],
        );
        return row?.['rows'] as number;
      }),
    );
  }

  /** A move by the library, for what comes after it. */
  move(request: Partial<MoveRequest>) {
    return this.fleet.move(request);
  }
}

export function tomlOf({ control, shards, options }: MovingFleet, database = ''): string {
  const slots = options.database?.shards?.map((shard) => JSON.stringify(shard.slots)) ?? [];
  return [
    `[database]\nprimary_url = "${control}"\ndirectory_shard_router = true\nconnect_timeout_ms = 2000`,
    database,
    ...shards.map(
      (url, index) =>
        `[[database.shards]]\nname = "shard${index}"\nprimary_url = "${url}"\nslots = ${slots[index]}`,
    ),
    '[tenancy]\nsource = "header"',
  ].join('\n');
}

/** Ids, times and durations are not the same twice, nor are the columns that depend on them. */
export function steady(text: string): string[] {
  return text
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UUID')
    .replaceAll(/\b(?=\w*\d)[0-9a-f]{8}\b/g, 'ID')
    .replaceAll(/\b[a-f]{8}\b/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/\b\d+ ms/g, 'N ms')
    .replaceAll(/about [\d,]+ rows?/g, 'about N rows')
    .replaceAll(/\b[\d.]+ k?B\b/g, 'N B')
    .replaceAll(/ {2,}(?=\S)/g, '  ')
    .trimEnd()
    .split('\n');
}
