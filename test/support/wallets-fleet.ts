import { ShardedUuid, ShardIdentifier } from '@app/routing';
import { migrate, resolveOptions, type ShardingOptions } from '@app/sharding';
import { runOnce, type Row } from './admin-query.js';
import { ServiceProcess } from './service-process.js';
import { TestCluster } from './test-cluster.js';

const MIGRATION = 'apps/wallets/src/create-wallets.migration.ts';

/** Where the wallets are: two members of one group, one of another. */
const PLACES = [ShardIdentifier.of(0, 0), ShardIdentifier.of(0, 1), ShardIdentifier.of(1, 0)];

/** Cents on each wallet at the beginning. */
export const OPENING = 10_000;

/** Fresh databases of the wallets service, and wallets with money. */
export class WalletsFleet {
  private constructor(
    readonly control: string,
    readonly shards: readonly string[],
    readonly wallets: readonly { readonly id: string }[],
  ) {}

  static async create(walletsOfShard: number): Promise<WalletsFleet> {
    const cluster = TestCluster.attach();
    const template = await cluster.template('wallets', async (url) => {
      const migrations = { shards: [MIGRATION] };
      await migrate(resolveOptions({ database: { primaryUrl: url }, migrations }), () => undefined);
    });
    const create = (label: string) => cluster.createDatabase({ template, label });
    const control = await create('control');
    const shards = [await create('eu0'), await create('eu1'), await create('mx0')];
    const wallets = await openAll(shards, walletsOfShard);
    return new WalletsFleet(control, shards, wallets);
  }

  options(): ShardingOptions {
    return {
      database: {
        primaryUrl: this.control,
        poolSize: 5,
        shards: this.shards.map((primaryUrl, at) => ({
          name: ['eu-0', 'eu-1', 'mx-0'][at] ?? '',
          primaryUrl,
          group: PLACES[at]?.group ?? 0,
          member: PLACES[at]?.member ?? 0,
        })),
      },
    };
  }

  /** A process that sends transfers, until `quiet` is asked of it. */
  start(): Promise<ServiceProcess> {
    const load = { wallets: this.wallets, width: 8 };
    const actions = { outbox: { leaseMs: 1500, idleMs: 100, firstRetryMs: 50, mostRetryMs: 1000 } };
    return ServiceProcess.start('wallets-child.mjs', { sharding: this.options(), actions, ...load });
  }

  /** The rows of a statement from all shards. */
  async everywhere(sql: string): Promise<Row[]> {
    const all = await Promise.all(this.shards.map((url) => runOnce(url, sql)));
    return all.flat();
  }
}

async function openAll(shards: readonly string[], count: number): Promise<{ id: string }[]> {
  const wallets: { id: string }[] = [];
  for (const [at, url] of shards.entries()) {
    for (let index = 0; index < count; index++) {
      const id = ShardedUuid.generate(PLACES[at] ?? ShardIdentifier.DEFAULT);
      const values = [id, `owner ${index}`, at < 2 ? 'DE' : 'MX', OPENING];
      await runOnce(
        url,
        'insert into wallets (id, owner, country, balance, version) values ($1, $2, $3, $4, 1)',
        values,
      );
      wallets.push({ id });
    }
  }
  return wallets;
}
