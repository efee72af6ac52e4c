import { Shards } from '@app/sharding';
import { PostgresServer } from '../../support/postgres-server.js';
import { ENTRIES, TENANTS, type Place } from './place.js';
import { boot } from './service.js';

const LANES = 8;
const WINDOW_MS = 4000;
const ROUNDS = 3;

/** p99 latency of one shard's tenants while the other shard is frozen, relative to before; the median of the rounds. */
export async function measureNeighbour(at: Place): Promise<number> {
  const sick = await PostgresServer.start({ name: 'sick' });
  try {
    await sick.createDatabase('shard1');
    await sick.query(ENTRIES, [], 'shard1');
    const ratios: number[] = [];
    for (let round = 0; round < ROUNDS; round++) ratios.push(await oneRound(at, sick));
    return ratios.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
  } finally {
    await sick.dispose();
  }
}

async function oneRound(at: Place, sick: PostgresServer): Promise<number> {
  const app = await boot({
    connectTimeoutMs: 1000,
    statementTimeoutMs: 2000,
    shards: [
      { name: 'shard0', primaryUrl: at.primary.url(at.database) },
      { name: 'shard1', primaryUrl: sick.url('shard1') },
    ],
  });
  try {
    await app.listen(0, '127.0.0.1');
    const url = `${await app.getUrl()}/count`;
    const shards = app.get(Shards);
    const of = async (name: string) => {
      const owners = await Promise.all(TENANTS.map((tenant) => shards.shardFor(tenant)));
      return TENANTS.filter((_tenant, index) => owners[index]?.name === name);
    };
    const [well, ill] = [await of('shard0'), await of('shard1')];
    await p99(url, well, ill); // warm
    const before = await p99(url, well, ill);
    sick.freeze({ backends: true });
    const during = await p99(url, well, ill);
    return during / before;
  } finally {
    sick.thaw();
    await app.close();
  }
}

/** p99 of the requests of `well`, while as many lanes ask for `ill`. */
async function p99(url: string, well: readonly string[], ill: readonly string[]): Promise<number> {
  const until = performance.now() + WINDOW_MS;
  const samples: number[] = [];
  const lane = async (tenants: readonly string[], measured: boolean, offset: number) => {
    for (let index = offset; performance.now() < until; index++) {
      const began = performance.now();
      const answer = await fetch(url, { headers: { 'x-tenant-id': tenants[index % tenants.length] ?? '' } });
      await answer.arrayBuffer();
      if (measured && answer.status !== 200) throw new Error(`a healthy tenant got ${answer.status}`);
      if (measured) samples.push(performance.now() - began);
    }
  };
  const lanes = Array.from({ length: LANES }, (_none, index) => index);
  await Promise.all(lanes.flatMap((index) => [lane(well, true, index), lane(ill, false, index)]));
  return samples.toSorted((a, b) => a - b)[Math.floor(0.99 * (samples.length - 1))] ?? Number.NaN;
}
