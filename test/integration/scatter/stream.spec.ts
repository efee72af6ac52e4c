import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { PostgresServer, waitFor } from '@test/support';
import { setTimeout as pause } from 'node:timers/promises';
import { scatterRepository, type CrossShardRepository } from '@app/sharding';
import { Sample, TABLES, bootSamples, sampleDatabase, type Samples } from './samples.js';

/** shard1 is on a server of its own, which is killed. */
let server: PostgresServer;
let samples: Samples;
let repo: CrossShardRepository<Sample>;
const ROWS = 3000;

beforeAll(async () => {
  server = await PostgresServer.start({ name: 'streamed' });
  const url = await server.createDatabase('samples');
  await server.query(TABLES, [], 'samples');
  samples = await bootSamples([await sampleDatabase('stream0'), url], { connectTimeoutMs: 1000 });
  repo = scatterRepository(Sample, { shards: samples.shards });
  for (const shard of [0, 1]) {
    await samples.query(
      shard,
      `insert into samples (id, tenant_id, big) select 2 * n + $1, 't', n % 100 from generate_series(1, $2::int) n`,
      [shard, ROWS],
    );
  }
});

afterEach(() => untilIdle());

afterAll(async () => {
  await samples.app.close();
  await server.dispose();
});

/** Nobody holds a connection, and no transaction is open on a server. */
async function untilIdle(): Promise<void> {
  const idle = async () => {
    const used = samples.shards.all().map((shard) => shard.stats().active);
    const open = await Promise.all([0, 1].map((shard) => transactions(shard)));
    return [...used, ...open].every((count) => count === 0);
  };
  await waitFor(idle, { what: 'the connections of the stream to be given back', timeoutMs: 10_000 });
}

async function transactions(shard: number): Promise<number> {
  const sql = `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`;
  return (await samples.query(shard, sql)).length;
}

const order = { big: 'DESC', id: 'ASC' } as const;

it('gives all rows in the global order', async () => {
  const seen: string[] = [];
  for await (const { id } of repo.stream({ order, batchSize: 128 })) seen.push(id);
  expect(seen).toEqual((await repo.find({ order })).map(({ id }) => id));
  expect(seen).toHaveLength(2 * ROWS);
});

it('loads relations on the snapshot of the keys', async () => {
  await samples.query(0, `insert into tags select id, 'x' from samples where big = 99`);
  const [first] = await collect(repo.stream({ order, relations: { tags: true }, batchSize: 50 }), 1);
  expect(first?.tags).toHaveLength(1);
});

it('gives the rows of the snapshot also where they are loaded later', async () => {
  const stream = repo.stream({ order: { id: 'DESC' }, relations: { tags: true }, batchSize: 20 });
  await stream.next();
  await samples.query(0, 'delete from samples where id = 2002');
  let rows = 1;
  for await (const { tags } of stream) rows += Number(tags.length >= 0);
  expect(rows).toBe(2 * ROWS);
  await samples.query(0, `insert into samples (id, tenant_id, big) values (2002, 't', 1)`);
});

it('fetches no further than the consumer reads', async () => {
  const stream = repo.stream({ order: { id: 'ASC' }, batchSize: 10 });
  await stream.next();
  await pause(50);
  await samples.query(0, 'delete from samples where id = 2000');
  const rest = [];
  for await (const { id } of stream) rest.push(id);
  expect(rest).toHaveLength(2 * ROWS - 1); // one snapshot a shard: what is deleted meanwhile is still there
  expect(rest).toContain('2000');
  await samples.query(0, `insert into samples (id, tenant_id, big) values (2000, 't', 0)`);
});

it.each<[string, (stream: AsyncGenerator<Sample>) => Promise<unknown>]>([
  ['breaks', (stream) => collect(stream, 5)],
  ['never begins', (stream) => stream.return(undefined)],
  [
    'throws',
    async (stream) => {
      const work = async () => {
        for await (const row of stream) throw new Error(`of the consumer ${typeof row}`);
      };
      await expect(work()).rejects.toThrow('of the consumer object');
    },
  ],
])('gives every connection back when the consumer %s', async (_name, consume) => {
  const stream = repo.stream({ order, batchSize: 10 });
  await consume(stream);
  await untilIdle();
  expect(await stream.next()).toEqual({ done: true, value: undefined });
});

it('ends at once when the signal fires, also while nobody reads', async () => {
  const abort = new AbortController();
  const stream = repo.stream({ order, signal: abort.signal });
  await stream.next();
  abort.abort();
  await untilIdle();
  await expect(stream.next()).rejects.toMatchObject({ code: 'aborted' });
  await expect(repo.stream({ signal: AbortSignal.abort() }).next()).rejects.toMatchObject({
    code: 'aborted',
  });
});

it('ends at its deadline, and when its consumer has forgotten it', async () => {
  const late = repo.stream({ order, deadlineMs: 200, batchSize: 1 });
  await late.next();
  await pause(300);
  await expect(collect(late, 10)).rejects.toMatchObject({ code: 'deadline_exceeded' });
  const forgotten = repo.stream({ order, idleMs: 100, batchSize: 1 });
  await forgotten.next();
  await untilIdle();
  await expect(forgotten.next()).rejects.toMatchObject({
    code: 'deadline_exceeded',
    message: expect.stringContaining('idleMs'),
  });
});

it('holds one connection of each shard, opened in declaration order', async () => {
  const streams = Array.from({ length: 4 }, () => repo.stream({ order, batchSize: 5 }));
  for (const stream of streams) await stream.next();
  expect(samples.shards.all().map((shard) => shard.stats().active)).toEqual([4, 4]); // the whole pool
  const fifth = repo.stream({ order });
  await expect(fifth.next()).rejects.toMatchObject({
    code: 'shard_unavailable',
    message: expect.stringContaining('shard "shard0"'),
  });
  for (const stream of streams) await stream.return(undefined);
});

it('fails when a shard fails midway, and gives back what it holds of the others', async () => {
  const stream = repo.stream({ order: { id: 'ASC' }, batchSize: 10 });
  const seen = await take(stream, 25);
  await server.kill();
  await expect(collect(stream, 2 * ROWS)).rejects.toMatchObject({
    code: 'shard_unavailable',
    message: expect.stringContaining('shard "shard1"'),
  });
  expect(seen).toHaveLength(25);
  await waitFor(async () => samples.shards.named('shard0').stats().active === 0, {
    what: 'shard0 to be idle',
  });
  await server.restart();
  await waitFor(async () => (await collect(repo.stream({ order }), 1)).length === 1, {
    what: 'the stream to work again',
    timeoutMs: 15_000,
  });
}, 40_000);

/** Up to `count` rows, then `break`. */
async function collect(stream: AsyncGenerator<Sample>, count: number): Promise<Sample[]> {
  const rows: Sample[] = [];
  for await (const row of stream) {
    rows.push(row);
    if (rows.length === count) break;
  }
  return rows;
}

/** `count` rows, without ending the stream. */
async function take(stream: AsyncGenerator<Sample>, count: number): Promise<Sample[]> {
  const rows: Sample[] = [];
  while (rows.length < count) rows.push((await stream.next()).value as Sample);
  return rows;
}
