import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Shards, scatterRepository, type CrossShardRepository } from '@app/sharding';
import { freePort, waitFor } from '@test/support';
import { runOnce, withClient } from '../../support/admin-query.js';
import { bootApp } from '../../support/deployment.js';
import { POOLERS } from '../../support/poolers.js';
import { CLUSTER_VARIABLE, type ClusterFacts } from '../../support/test-cluster.js';
import { Author, Sample, Tag, sampleDatabase } from './samples.js';
import type { INestApplication } from '@nestjs/common';
import type { TestPooler } from '../../support/transaction-pooler.js';

const ROWS = 60;
/** Fewer than there are readers, so that transactions wait for each other in the pooler. */
const SERVERS = 2;
const MOODS = ['sad', 'ok', 'happy'];

/** Every transaction of a scatter meets another server connection, and what it leaves in a session reaches others. */
describe.each(POOLERS)('reads over all shards behind %s', (_name, start) => {
  const direct: string[] = [];
  let pooler: TestPooler;
  let app: INestApplication;
  let shards: Shards;
  let repo: CrossShardRepository<Sample>;

  beforeAll(async () => {
    const { url: serverUrl } = JSON.parse(process.env[CLUSTER_VARIABLE] ?? '') as ClusterFacts;
    for (const label of ['pooled0', 'pooled1']) direct.push(await sampleDatabase(label));
    pooler = await start({ serverUrl, servers: SERVERS });
    app = await boot(direct.map((url) => pooler.url(url)));
    shards = app.get(Shards);
    repo = scatterRepository(Sample, { shards });
    for (const [shard, url] of direct.entries()) {
      await runOnce(
        url,
        `insert into samples (id, tenant_id, big, body, mood, author_id)
           select 2 * n + $1, 't', n % 7, chr(97 + n % 5), ($3::mood[])[1 + n % 3], n from generate_series(1, $2::int) n`,
        [shard, ROWS, MOODS],
      );
      await runOnce(url, `insert into tags select id, 'x' from samples where big = 6`);
    }
  }, 60_000);
  afterEach(() => untilIdle());
  afterAll(async () => {
    await app.close();
    await pooler.dispose();
  });

  const boot = (urls: readonly string[]) =>
    bootApp({
      database: {
        poolSize: 4,
        pooler: 'transaction',
        connectTimeoutMs: 1000,
        shards: urls.map((primaryUrl, index) => ({ name: `shard${index}`, primaryUrl })),
      },
      tenancy: { source: 'header' },
      entities: [Author, Sample, Tag],
    });

  /** No transaction is left open, and no server keeps a setting or a cursor of one. */
  const untilIdle = async () => {
    const open = `select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'`;
    const idle = async () => {
      const counts = await Promise.all(direct.map(async (url) => (await runOnce(url, open)).length));
      return [...counts, ...shards.all().map((shard) => shard.stats().active)].every((count) => count === 0);
    };
    await waitFor(idle, { what: 'the transactions to end' });
    const session = `select current_setting('idle_in_transaction_session_timeout') as idle,
      current_setting('statement_timeout') as statement, (select count(*)::int from pg_cursors where is_holdable) as cursors`;
    for (const shard of shards.all()) {
      const db = await shard.primary();
      const left = await Promise.all(Array.from({ length: SERVERS * 2 }, () => db.query<object[]>(session)));
      for (const row of left.flat()) expect(row).toEqual({ idle: '0', statement: '0', cursors: 0 });
    }
  };

  const order = { big: 'DESC', id: 'ASC' } as const;
  /** All ids in that order. */
  const expected = Array.from({ length: ROWS }, (_none, n) => n + 1)
    .flatMap((n) => [0, 1].map((shard) => ({ id: 2 * n + shard, big: n % 7 })))
    .toSorted((a, b) => b.big - a.big || a.id - b.id)
    .map(({ id }) => String(id));
  const idsOf = (rows: readonly Sample[]) => rows.map(({ id }) => id);

  it('find has order, take, skip and relations of both kinds', async () => {
    expect(idsOf(await repo.find({ order }))).toEqual(expected);
    const some = await repo.find({ order, take: 9, skip: 4, relations: { tags: true, author: true } });
    expect(idsOf(some)).toEqual(expected.slice(4, 13));
    expect(some.map(({ tags }) => tags.length)).toEqual(Array(9).fill(1));
    const moods = (await repo.find({ order: { mood: 'DESC' }, take: 1 }))[0]?.mood;
    expect(moods).toBe('happy');
  });

  it('page walks through all rows by its cursors', async () => {
    const seen: string[] = [];
    for (let after: string | null | undefined; after !== null;) {
      const page = await repo.page({ order, take: 13, after });
      seen.push(...idsOf(page.rows));
      after = page.next;
    }
    expect(seen).toEqual(expected);
  });

  it('groupBy, aggregates, count and exists', async () => {
    const groups = await repo.groupBy(
      ['mood'],
      { n: { count: '*' }, most: { maximum: 'big' } },
      { order: { mood: 'ASC' } },
    );
    expect(groups).toEqual(MOODS.map((mood) => ({ mood, n: (ROWS * 2) / 3, most: '6' })));
    expect(await repo.sum('id')).toBe(String(expected.reduce((sum, id) => sum + Number(id), 0)));
    expect(await repo.countDistinct('body')).toBe(5);
    expect([await repo.count(), await repo.existsBy({ big: '8' })]).toEqual([2 * ROWS, false]);
  });

  it('stream keeps the server of its cursor, also beside others, and gives it back', async () => {
    const ends = Array.from({ length: SERVERS }, async () => {
      const rows: Sample[] = [];
      for await (const row of repo.stream({ order, batchSize: 5, relations: { tags: true } })) rows.push(row);
      return rows;
    });
    for (const rows of await Promise.all(ends)) {
      expect(idsOf(rows)).toEqual(expected);
      expect(rows.every(({ big, tags }) => tags.length === (big === '6' ? 1 : 0))).toBe(true);
    }
  });

  it('a stream that is left early leaves nothing on the server', async () => {
    for await (const row of repo.stream({ order, batchSize: 2 })) {
      expect(row.id).toBe(expected[0]);
      break;
    }
    await untilIdle();
    expect(idsOf(await repo.find({ order, take: 3 }))).toEqual(expected.slice(0, 3));
  });

  it('more scatters than servers at a time all end', async () => {
    const many = await Promise.all(Array.from({ length: 30 }, () => repo.find({ order, take: 5 })));
    for (const rows of many) expect(idsOf(rows)).toEqual(expected.slice(0, 5));
  });

  describe('while somebody holds the table of shard1', () => {
    const locked = (work: () => Promise<void>) =>
      withClient(direct[1]!, async (client) => {
        await client.query('begin; lock table samples');
        await work();
      });
    const waiting = async () => {
      const sql = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      return (await runOnce(direct[1]!, sql)).length;
    };
    const nobodyWaits = () =>
      waitFor(async () => (await waiting()) === 0, { what: 'the statement to end on the server' });

    it('partial names the shard, and its statement ends on the server', () =>
      locked(async () => {
        const { rows, missing } = await repo.find({ order, shards: 'partial', deadlineMs: 500 });
        expect(missing).toEqual([{ shard: 'shard1', code: 'deadline_exceeded' }]);
        expect(idsOf(rows)).toEqual(expected.filter((id) => Number(id) % 2 === 0));
        await nobodyWaits();
      }));

    it('a signal ends a find and a stream, also on the server', () =>
      locked(async () => {
        const abort = new AbortController();
        const ends = [
          repo.find({ order, signal: abort.signal }),
          repo.stream({ order, signal: abort.signal }).next(),
        ].map((end) => expect(end).rejects.toMatchObject({ code: 'aborted' }));
        await waitFor(async () => (await waiting()) === ends.length, { what: 'both to wait' });
        abort.abort();
        await Promise.all(ends);
        await nobodyWaits();
      }));
  });

  it('partial names a shard whose pooler is gone', async () => {
    const gone = `postgres://nobody@127.0.0.1:${await freePort()}/nothing`;
    const other = await boot([pooler.url(direct[0]!), gone]);
    try {
      const half = scatterRepository(Sample, { shards: other.get(Shards) });
      const { value, missing } = await half.count({ shards: 'partial' });
      expect({ value, missing }).toEqual({
        value: ROWS,
        missing: [{ shard: 'shard1', code: 'shard_unavailable' }],
      });
    } finally {
      await other.close();
    }
  });
});
