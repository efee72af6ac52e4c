import { DataSource } from 'typeorm';
import { Shards } from '@app/sharding';
import { compare, type Side, type SideResult } from '../support/bench.js';
import { atATime, Entry, POOL_SIZE, TENANTS, type Place } from './place.js';
import { boot } from './service.js';

const READS = 3000;
const WIDTH = 16;
const SQL = 'select id, version from entries where tenant_id = $1';

/** Reads per second: bare, through `readFor`, the same inside `runFor`, and raw SQL both ways. */
export async function compareReads(at: Place, rounds: number): Promise<SideResult[]> {
  const bare = await new DataSource({
    type: 'postgres',
    url: at.replica.url(at.database),
    entities: [Entry],
    poolSize: POOL_SIZE,
    connectTimeoutMS: 5000,
  }).initialize();
  const app = await boot({
    shards: [
      {
        name: 'shard0',
        primaryUrl: at.primary.url(at.database),
        replicaUrl: at.replica.url(at.database),
      },
    ],
  });
  const shards = app.get(Shards);
  const side = (name: string, read: (tenantId: string) => Promise<unknown>): Side => ({
    name,
    run: () => readsPerSecond(read),
  });
  try {
    return await compare(
      [
        side('bare DataSource', (tenantId) => bare.getRepository(Entry).findOneBy({ tenantId })),
        side('readFor', async (tenantId) =>
          (await shards.readFor(tenantId)).getRepository(Entry).findOneBy({ tenantId }),
        ),
        side('readFor in runFor', (tenantId) =>
          shards.runFor(tenantId, async () =>
            (await shards.readFor(tenantId)).getRepository(Entry).findOneBy({ tenantId }),
          ),
        ),
        side('bare SQL', (tenantId) => bare.query(SQL, [tenantId])),
        side('readFor SQL', async (tenantId) => (await shards.readFor(tenantId)).query(SQL, [tenantId])),
      ],
      { rounds, warmup: 2 },
    );
  } finally {
    await app.close();
    await bare.destroy();
  }
}

async function readsPerSecond(read: (tenantId: string) => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await atATime(WIDTH, READS, async (index) => {
    const found = await read(TENANTS[index % TENANTS.length] ?? '');
    if (!found) throw new Error('a row is missing');
  });
  return (READS / (performance.now() - began)) * 1000;
}
