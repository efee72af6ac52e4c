import { RoutingContext, Shards, type ShardDb } from '@app/sharding';
import { waitFor } from '../../support/wait-for.js';
import { atATime, Entry, TENANTS, type Place } from './place.js';
import { boot } from './service.js';

const WIDTH = 16;
/** Every so many pairs a context that has written nothing reads too. */
const ONLY_READS_EVERY = 10;

export interface Staleness {
  readonly pairs: number;
  /** Reads that missed the write of their own context, or session. */
  readonly stale: number;
  /** Of the contexts that wrote nothing, the share that the replica served. */
  readonly replicaShare: number;
}

/** Write, then read: in one context with `request`, in a later context of the same session with `session`. */
export async function measureStaleness(
  at: Place,
  mode: 'request' | 'session',
  pairs: number,
): Promise<Staleness> {
  const app = await boot({
    readYourWrites: mode,
    ...(mode === 'session' && { sessionSecret: 'a secret of the benchmark, 32 bytes' }),
    shards: [
      { name: 'shard0', primaryUrl: at.primary.url(at.database), replicaUrl: at.replica.url(at.database) },
    ],
  });
  const shards = app.get(Shards);
  const context = app.get(RoutingContext);
  const versions = new Map<string, number>();
  const counts = { stale: 0, replica: 0, only: 0 };
  try {
    await waitFor(async () => shards.named('shard0').replicaStatus()?.ready, { what: 'the replica' });
    const write = (db: ShardDb, tenantId: string, version: number) =>
      db.getRepository(Entry).update({ tenantId }, { version });
    const read = async (tenantId: string, version: number) => {
      const found = await (await shards.readFor(tenantId)).getRepository(Entry).findOneBy({ tenantId });
      if (!found || found.version < version) counts.stale++;
    };
    const pair = async (tenantId: string, version: number) => {
      if (mode === 'request') {
        return shards.runFor(tenantId, async (db) => {
          await write(db, tenantId, version);
          await read(tenantId, version);
        });
      }
      const session = await shards.runFor(tenantId, async (db) => {
        await write(db, tenantId, version);
        return context.sessionToken();
      });
      return shards.runFor(tenantId, () => read(tenantId, version), session === undefined ? {} : { session });
    };
    const onlyRead = async (tenantId: string) => {
      const rows = await shards.runFor(tenantId, async () =>
        (await shards.readFor(tenantId)).query<{ replica: boolean }[]>(
          'select pg_is_in_recovery() as replica',
        ),
      );
      counts.only++;
      if (rows[0]?.replica) counts.replica++;
    };
    await atATime(WIDTH, pairs, async (index) => {
      const tenantId = TENANTS[index % TENANTS.length] ?? '';
      const version = (versions.get(tenantId) ?? 0) + 1;
      versions.set(tenantId, version);
      await pair(tenantId, version);
      if (index % ONLY_READS_EVERY === 0) await onlyRead(tenantId);
    });
    return { pairs, stale: counts.stale, replicaShare: counts.replica / counts.only };
  } finally {
    await app.close();
  }
}
