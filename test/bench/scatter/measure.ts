import { Shards } from '@app/sharding';
import { compare, ratio, type Side, type SideResult } from '../support/bench.js';
import { boot, repository } from './app.js';
import { bare, Line, MOST_SHARDS, Post, STREAMED_ROWS } from './data.js';
import type { PostgresServer } from '../../support/postgres-server.js';

const TOP = 100;
const DEPTH = 50_000;
const NEWEST = { madeAt: 'DESC', id: 'DESC' } as const;
const MB = 2 ** 20;

/** Operations per second, one after the other. */
async function rate(count: number, work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  for (let index = 0; index < count; index++) await work();
  return (count / (performance.now() - began)) * 1000;
}

/** The most live heap, after garbage collection, that `work` had above what was there before, in MB. */
export async function peakHeap(work: (sample: () => void) => Promise<void>): Promise<number> {
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  let most = before;
  const sample = () => {
    globalThis.gc?.();
    most = Math.max(most, process.memoryUsage().heapUsed);
  };
  const timer = setInterval(sample, 250);
  try {
    await work(sample);
  } finally {
    clearInterval(timer);
  }
  return (most - before) / MB;
}

/** The newest rows of so many shards against one database with the same rows. */
export async function topOf(server: PostgresServer, count: number, rounds: number) {
  const one = await bare(server, `all${count}`);
  const app = await boot(server, count);
  try {
    const across = repository(app, Post).acrossTenants();
    const find = () => across.find({ order: NEWEST, take: TOP });
    const expected = await one.getRepository(Post).find({ order: NEWEST, take: TOP });
    const same = JSON.stringify(await find()) === JSON.stringify(expected);
    if (!same) throw new Error(`the top of ${count} shards is not that of one database`);
    const sides: Side[] = [
      {
        name: `one database, ${count} x`,
        run: () => rate(40, () => one.getRepository(Post).find({ order: NEWEST, take: TOP })),
      },
      { name: `${count} shards`, run: () => rate(40, find) },
    ];
    const results = await compare(sides, { rounds, warmup: 1 });
    const heap = await peakHeap(async (sample) => {
      for (let index = 0; index < 20; index++) {
        await find();
        sample();
      }
    });
    const [baseline, shards] = results as [SideResult, SideResult];
    return { results, ratio: ratio(shards, baseline), heap };
  } finally {
    await app.close();
    await one.destroy();
  }
}

/** A page deep in the order: by cursor on all shards, by OFFSET in one database. How much faster the cursor is. */
export async function cursorSpeedup(server: PostgresServer, rounds: number) {
  const one = await bare(server, `all${MOST_SHARDS}`);
  const app = await boot(server, MOST_SHARDS);
  try {
    const across = repository(app, Post).acrossTenants();
    let after: string | null = null;
    for (let page = 0; page < DEPTH / TOP; page++) {
      after = (await across.page({ order: NEWEST, take: TOP, after })).next;
    }
    const results = await compare(
      [
        {
          name: `OFFSET ${DEPTH}, one database`,
          run: () => rate(5, () => one.getRepository(Post).find({ order: NEWEST, take: TOP, skip: DEPTH })),
        },
        {
          name: `cursor page ${DEPTH / TOP}, ${MOST_SHARDS} shards`,
          run: () => rate(5, () => across.page({ order: NEWEST, take: TOP, after })),
        },
      ],
      { rounds, warmup: 1 },
    );
    const [offset, cursor] = results as [SideResult, SideResult];
    return { results, speedup: ratio(cursor, offset) };
  } finally {
    await app.close();
    await one.destroy();
  }
}

/** Reads everything; how much heap that takes at most, in MB. */
export async function streamAll(
  server: PostgresServer,
): Promise<{ rows: number; heap: number; seconds: number }> {
  const app = await boot(server, MOST_SHARDS);
  try {
    const lines = repository(app, Line).acrossTenants();
    let rows = 0;
    let last = '';
    const began = performance.now();
    const heap = await peakHeap(async () => {
      for await (const { id } of lines.stream({ order: { id: 'ASC' } })) {
        if (id <= last) throw new Error('the stream is out of order');
        last = id;
        rows++;
      }
    });
    if (rows !== STREAMED_ROWS) throw new Error(`${rows} rows instead of ${STREAMED_ROWS}`);
    return { rows, heap, seconds: (performance.now() - began) / 1000 };
  } finally {
    await app.close();
  }
}

/** `findBy` of a tenant's repository against TypeORM's with the tenant condition, on the same database. */
export async function repositoryReads(server: PostgresServer, rounds: number): Promise<SideResult[]> {
  const one = await bare(server, 'shard0');
  const app = await boot(server, 1);
  try {
    const plain = one.getRepository(Post);
    const sharded = repository(app, Post);
    const shards = app.get(Shards);
    const tenantId = 'tenant-7';
    const [some] = await plain.findBy({ tenantId });
    const title = some?.title ?? '';
    const inContext = <T>(work: () => Promise<T>) => shards.runFor(tenantId, work);
    return await compare(
      [
        {
          name: 'TypeORM repository',
          run: () => inContext(() => rate(1000, () => plain.findBy({ tenantId, title }))),
        },
        {
          name: 'ShardedRepository',
          run: () => inContext(() => rate(1000, () => sharded.findBy({ title }))),
        },
      ],
      { rounds, warmup: 2 },
    );
  } finally {
    await app.close();
    await one.destroy();
  }
}
