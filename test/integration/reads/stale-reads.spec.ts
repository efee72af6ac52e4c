import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Note } from '../../support/deployment.js';
import { REPLICATED, ReadingApp, ReplicatedDeployment, servedBy } from '../../support/replicated.js';
import type { ShardDb } from '@app/sharding';

/** 2,000 write-then-read pairs on a replica that applies 500 ms late: none may be stale. */
const PAIRS = 2000;
const WORKERS = 16;

let servers: ReplicatedDeployment;
let reading: ReadingApp;

beforeAll(async () => {
  servers = await ReplicatedDeployment.start();
  reading = await ReadingApp.boot(servers.options({ poolSize: 8, causalWaitMs: 20 }));
  await reading.untilReplicaServes();
  await servers.replica.setApplyDelay(500);
});

afterAll(async () => {
  await reading.close();
  await servers.dispose();
});

const WRITES: ((db: ShardDb, body: string) => Promise<unknown>)[] = [
  (db, body) => db.getRepository(Note).insert({ tenantId: REPLICATED, body }),
  (db, body) => db.getRepository(Note).save({ tenantId: REPLICATED, body }),
  (db, body) => db.tx((tx) => tx.getRepository(Note).insert({ tenantId: REPLICATED, body })),
  (db, body) => db.query('select add_note($1, $2)', [REPLICATED, body]),
];

it('read-your-writes holds for every pair, and contexts that did not write are served by the replica', async () => {
  const seed = Number(fc.sample(fc.nat(), 1)[0]);
  const kinds = fc.sample(fc.nat(WRITES.length - 1), { seed, numRuns: PAIRS });
  const pairs = kinds.entries();
  const [stale, others]: [string[], Set<string>] = [[], new Set()];
  const worker = async () => {
    for (const [index, kind] of pairs) {
      const body = `pair ${index}`;
      await reading.inContext(async (db) => {
        await WRITES[kind]!(db, body);
        const reader = index % 2 === 0 ? db.reader() : await reading.shards.readFor(REPLICATED);
        const seen =
          index % 3 === 0
            ? (await reader.query('select 1 from notes where body = $1', [body])).length
            : await reader.getRepository(Note).countBy({ body });
        if (seen !== 1) stale.push(body);
      });
      if (index % 50 === 0)
        others.add(await reading.inContext(async () => servedBy(await reading.shards.readFor(REPLICATED))));
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, worker));
  // The seed tells the order of the kinds of writes; give it to fc.sample to have them again.
  process.stdout.write(`stale-reads: seed ${seed}, ${PAIRS} pairs, ${stale.length} stale\n`);
  expect({ seed, stale }).toEqual({ seed, stale: [] });
  expect([...others]).toEqual(['replica']);
  expect(await servers.primary.query('select count(*)::int from notes', [], 'shard0')).toEqual([
    { count: PAIRS },
  ]);
}, 60_000);
