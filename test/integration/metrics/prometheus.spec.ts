import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Shards } from '@app/sharding';
import { expectNoConnections, waitFor } from '@test/support';
import { deployment, type Deployment } from '../../support/deployment.js';
import { call } from '../../support/bookmarks.js';
import { bootMetrics } from './metrics-app.js';
import { scrape, select, valueOf } from './samples.js';
import type { INestApplication } from '@nestjs/common';

let databases: Deployment;
let app: INestApplication;
let url: string;

beforeAll(async () => {
  databases = await deployment(2);
});

afterEach(() => app.close());

afterAll(async () => {
  for (const shard of [databases.control, ...databases.shards]) await expectNoConnections(shard);
});

describe.each(['express', 'fastify'] as const)('GET /metrics under %s', (adapter) => {
  it('answers Prometheus text without a tenant, also where one is required', async () => {
    const tenancy = { source: 'header', required: 'always' } as const;
    ({ app, url } = await bootMetrics({ ...databases.options(), tenancy }, adapter));
    const response = await fetch(`${url}/metrics`);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
    expect(await response.text()).toContain('# TYPE sharding_slots gauge\n');
    expect((await call(`${url}/actuator/metrics`)).status).toBe(200);
    expect(await call(`${url}/work/none`)).toMatchObject({ status: 400, body: { code: 'no_routing_key' } });
  });

  it('tells what the databases are like before anything has used them', async () => {
    ({ app, url } = await bootMetrics(databases.options(), adapter));
    const samples = (await scrape(url)).filter(({ name }) => !/_(bucket|sum|count)$/.test(name));
    const primary = (shard: string) => ({ shard, role: 'primary' });
    const everywhere = (name: string, value: number, more: object = {}) =>
      ['control', 'shard0', 'shard1'].map((shard) => ({
        name,
        labels: { ...primary(shard), ...more },
        value,
      }));
    expect(new Set(samples)).toEqual(
      new Set([
        ...everywhere('sharding_pool_connections', 0, { state: 'active' }),
        ...everywhere('sharding_pool_connections', 0, { state: 'idle' }),
        ...everywhere('sharding_pool_connections', 0, { state: 'waiting' }),
        ...everywhere('sharding_pool_max_connections', 4),
        ...everywhere('sharding_breaker_open', 0),
        { name: 'sharding_shard_info', labels: { shard: 'shard0', group: '0' }, value: 1 },
        { name: 'sharding_shard_info', labels: { shard: 'shard1', group: '0' }, value: 1 },
        { name: 'sharding_slots', labels: { shard: 'shard0' }, value: 8192 },
        { name: 'sharding_slots', labels: { shard: 'shard1' }, value: 8192 },
      ]),
    );
  });
});

describe('the databases', () => {
  const primary = { shard: 'shard0', role: 'primary' };
  let before: Awaited<ReturnType<typeof scrape>>;

  /** What was counted since {@link boot}. */
  const count = async (name: string, labels: Record<string, string> = {}) => {
    const all = { ...primary, ...labels };
    return (valueOf(await scrape(url), name, all) ?? 0) - (valueOf(before, name, all) ?? 0);
  };

  /** Opens shard0, which sends statements of its own. */
  const boot = async (database: object = {}) => {
    ({ app, url } = await bootMetrics(databases.options(database)));
    const db = await app.get(Shards).dbOn('shard0');
    await db.query('select 1');
    before = await scrape(url);
    return db;
  };

  it('have their checkouts, statements and transactions counted and timed', async () => {
    const db = await boot();
    await db.query('select pg_sleep(0.2)');
    expect(await count('sharding_checkout_wait_seconds_count')).toBe(1);
    expect(await count('sharding_query_duration_seconds_count')).toBe(1);
    expect(await count('sharding_query_duration_seconds_bucket', { le: '0.1' })).toBe(0);
    expect(await count('sharding_query_duration_seconds_bucket', { le: '2.5' })).toBe(1);
    expect(await count('sharding_transaction_duration_seconds_count')).toBe(0);
    await db.tx((tx) => tx.query('select 1'));
    expect(await count('sharding_checkout_wait_seconds_count')).toBe(2);
    expect(await count('sharding_query_duration_seconds_count')).toBe(4);
    expect(await count('sharding_transaction_duration_seconds_count')).toBe(1);
    expect(select(await scrape(url), 'sharding_query_duration_seconds_count', { shard: 'shard1' })).toEqual(
      [],
    );
  });

  it('show who uses the pool and who waits for it, the wait apart from the statement', async () => {
    const db = await boot({ poolSize: 1 });
    const held = db.tx((tx) => tx.query('select pg_sleep(0.5)'));
    const waiting = db.tx((tx) => tx.query('select 1'));
    const states = async () => {
      const samples = await scrape(url);
      return ['active', 'idle', 'waiting']
        .map((state) => valueOf(samples, 'sharding_pool_connections', { ...primary, state }))
        .join();
    };
    await waitFor(async () => (await states()) === '1,0,1', { what: 'one to use the pool and one to wait' });
    await Promise.all([held, waiting]);
    const within = (what: string, le: string) => count(`sharding_${what}_seconds_bucket`, { le });
    expect([await within('checkout_wait', '0.1'), await within('checkout_wait', '+Inf')]).toEqual([1, 2]);
    expect([await within('query_duration', '0.25'), await within('query_duration', '+Inf')]).toEqual([5, 6]);
    expect([
      await within('transaction_duration', '0.25'),
      await within('transaction_duration', '+Inf'),
    ]).toEqual([1, 2]);
  });

  it('have what failed counted by the class of the error', async () => {
    const db = await boot();
    await expect(db.query('select 1 / 0')).rejects.toThrow('division by zero');
    await expect(db.query('select nothing')).rejects.toThrow('does not exist');
    await expect(db.query('select no_thing')).rejects.toThrow('does not exist');
    await expect(db.query('select pg_sleep(5)', [], { deadlineMs: 50 })).rejects.toThrow('within 50 ms');
    const cancelled = { operation: 'statement', code: 'deadline_exceeded' };
    await waitFor(async () => (await count('sharding_failures_total', cancelled)) > 0, {
      what: 'the cancelled statement to end',
    });
    const failures = select(await scrape(url), 'sharding_failures_total');
    expect(
      new Set(failures.map(({ labels, value }) => [labels['operation'], labels['code'], value])),
    ).toEqual(
      new Set([
        ['statement', 'sqlstate_22', 1],
        ['statement', 'sqlstate_42', 2],
        ['statement', 'deadline_exceeded', 1],
      ]),
    );
  });
});
