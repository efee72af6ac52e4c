import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';
import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { InjectControl, Shards } from '@app/sharding';
import { TestCluster, expectNoConnections, waitFor } from '@test/support';
import { Note, bootApp, deployment, type Deployment } from '../../support/deployment.js';
import type { INestApplication } from '@nestjs/common';
import type { ShardingOptions } from '@app/sharding';

@Injectable()
class ControlUser {
  constructor(@InjectControl() readonly control: DataSource) {}
}

let databases: Deployment;
let app: INestApplication | undefined;
let warnings: string[];

beforeAll(async () => {
  databases = await deployment(2);
});

async function boot(sharding: ShardingOptions): Promise<Shards> {
  warnings = [];
  app = await bootApp(sharding, { providers: [ControlUser] });
  Logger.overrideLogger({
    log: () => undefined,
    error: () => undefined,
    warn: (line: string) => warnings.push(line),
  });
  return app.get(Shards);
}

afterEach(async () => {
  await app?.close();
  app = undefined;
  Logger.overrideLogger(false);
  for (const url of [databases.control, ...databases.shards]) await expectNoConnections(url);
});

const terminateAll = (place: number | 'control') =>
  databases.query(
    place,
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
  );

describe('idle connections that the server ends (C09)', () => {
  it('cost one redacted warning each, never the process, and the next request works', async () => {
    const shards = await boot(databases.options());
    const control = app!.get(ControlUser).control;
    const warm = () => Promise.all([1, 2, 3].map(() => shards.each((db) => db.getRepository(Note).count())));
    await warm();
    await control.query('select 1');
    const open = () => shards.all().map((shard) => shard.stats().idle);
    const lost = open().reduce((sum, idle) => sum + idle, 1);
    await Promise.all([terminateAll(0), terminateAll(1), terminateAll('control')]);
    await waitFor(async () => warnings.length === lost, { what: `${lost} warnings` });
    expect(new Set(warnings)).toEqual(new Set(['an idle connection was lost (57P01)']));
    await expect(warm()).resolves.toHaveLength(3);
    await expect(control.query('select 1 as one')).resolves.toEqual([{ one: 1 }]);
  });

  it('in the middle of a statement is shard_unavailable, and the pool is whole again', async () => {
    const shards = await boot(databases.options({ poolSize: 1 }));
    const db = await shards.dbOn('shard0');
    const sleeping = db.query('select pg_sleep(30)');
    sleeping.catch(() => undefined);
    await waitFor(async () => (await terminateAll(0)).length > 0, { what: 'the connection to be ended' });
    await expect(sleeping).rejects.toMatchObject({ code: 'shard_unavailable', retryable: true });
    await expect(db.query('select 1 as one')).resolves.toEqual([{ one: 1 }]);
  });

  it('in the middle of a transaction ends it with the first error, and the pool is whole again', async () => {
    const shards = await boot(databases.options({ poolSize: 1 }));
    const db = await shards.dbOn('shard0');
    const work = db.tx(async (tx) => {
      await tx.getRepository(Note).insert({ tenantId: 'acme', body: 'lost' });
      await terminateAll(0);
      await tx.getRepository(Note).count();
    });
    await expect(work).rejects.toMatchObject({ code: 'shard_unavailable' });
    expect(await db.getRepository(Note).count()).toBe(0);
  });
});

describe('a pool that is used up', () => {
  it('answers shard_unavailable within the connect timeout and goes on afterwards (C11)', async () => {
    const shards = await boot(databases.options({ poolSize: 2, connectTimeoutMs: 300 }));
    const db = await shards.dbOn('shard0');
    const nested = () =>
      db.tx(async () => shards.runFor('acme', async (same) => same.query('select pg_sleep(0.01)')));
    const held = () =>
      db.tx(async (tx) => {
        await tx.query('select pg_sleep(0.05)');
        return nested();
      });
    const ends = await Promise.allSettled(Array.from({ length: 50 }, held));
    const failures = ends
      .filter((end) => end.status === 'rejected')
      .map((end) => end.reason as { code: string });
    expect(failures.every(({ code }) => code === 'shard_unavailable')).toBe(true);
    expect(ends.length - failures.length).toBeGreaterThanOrEqual(2);
    await expect(db.query('select 1 as one')).resolves.toEqual([{ one: 1 }]);
  });

  it('routing needs no connection: handlers that hold the control pool still reach their shard (C11)', async () => {
    const shards = await boot(databases.options({ primaryPoolSize: 2, connectTimeoutMs: 10_000 }));
    const { control } = app!.get(ControlUser);
    const handler = (tenant: string) =>
      control.transaction(async (manager) => {
        await manager.query('select 1');
        return (await shards.dbFor(tenant)).getRepository(Note).countBy({ tenantId: tenant });
      });
    const counts = await Promise.all(
      Array.from({ length: 50 }, (_none, index) => handler(`tenant-${index}`)),
    );
    expect(counts).toEqual(Array.from({ length: 50 }, () => 0));
  });

  it('never exceeds the announced total_max_connections (C19)', async () => {
    const lines: string[] = [];
    const declared = databases.shards.map((primaryUrl, index) => ({
      name: `shard${index}`,
      primaryUrl,
      primaryPoolSize: 4,
    }));
    app = await bootApp(
      databases.options({ primaryPoolSize: 3, shards: declared, maxConnectionsWarnThreshold: 17 }),
      { providers: [ControlUser] },
      {
        logger: {
          log: (line: string) => lines.push(line),
          warn: (line: string) => lines.push(line),
          error: () => undefined,
        },
      },
    );
    const announced = Number(/total_max_connections=(\d+)/.exec(lines.join('\n'))?.[1]);
    expect(announced).toBe(3 + 4 + 4 + 3 * 2); // pools, and two dedicated connections for each database
    expect(lines).toContain(
      'total_max_connections=17 reaches max_connections_warn_threshold=17: compare it with max_connections of the servers, times the number of processes',
    );
    const shards = app.get(Shards);
    const { control } = app.get(ControlUser);
    const busy = [
      ...Array.from({ length: 20 }, () => control.query('select pg_sleep(0.2)')),
      ...Array.from({ length: 20 }, () =>
        shards.each((db) => db.query('select pg_sleep(0.2)'), { deadlineMs: 10_000 }),
      ),
    ];
    const cluster = TestCluster.attach();
    const count = async () => {
      const each = await Promise.all(
        [databases.control, ...databases.shards].map((url) => cluster.connections(url)),
      );
      return each.reduce((sum, open) => sum + open, 0);
    };
    await waitFor(async () => (await count()) === 11, { what: 'all pools to be full' });
    expect(await count()).toBeLessThanOrEqual(announced);
    await Promise.all(busy);
  });
});

describe('opening', () => {
  it('is shared by concurrent callers', async () => {
    const shards = await boot(databases.options());
    const opened = await Promise.all(Array.from({ length: 20 }, () => shards.dbOn('shard0')));
    expect(new Set(opened.map((db) => db.manager)).size).toBe(1);
    expect(await TestCluster.attach().connections(databases.shards[0]!)).toBe(1);
  });

  it('lends no request its AsyncLocalStorage context to the socket', async () => {
    const shards = await boot(databases.options({ poolSize: 1 }));
    const requests = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    await requests.run('tenant A', async () => {
      const runner = (await shards.dbOn('shard0')).manager.connection.createQueryRunner();
      const client = (await runner.connect()) as { on(event: 'notice', listener: () => void): void };
      client.on('notice', () => seen.push(requests.getStore()));
      await runner.release();
    });
    const db = await shards.dbOn('shard0');
    await requests.run('tenant B', () => db.query(`do $$ begin raise notice 'hello'; end $$`));
    expect(seen).toEqual([undefined]);
  });
});

describe('closing', () => {
  it('drains what runs, refuses what comes later, and may be done twice', async () => {
    const shards = await boot(databases.options());
    const db = await shards.dbOn('shard0');
    const running = db.query('select pg_sleep(0.3)::text as done');
    await waitFor(async () => db.shard.stats().active === 1, { what: 'the statement to run' });
    await Promise.all([app!.close(), app!.close()]);
    await expect(running).resolves.toEqual([{ done: '' }]);
    await expect(shards.dbOn('shard0')).rejects.toMatchObject({
      code: 'shard_unavailable',
      message: 'shard "shard0" is closed',
    });
    await expect(db.query('select 1')).rejects.toMatchObject({ code: 'shard_unavailable' });
    app = undefined;
  });

  it('does not wait longer than drain_timeout_ms', async () => {
    const shards = await boot(databases.options({ drainTimeoutMs: 100 }));
    const db = await shards.dbOn('shard0');
    const running = db.query('select pg_sleep(60)');
    running.catch(() => undefined);
    await waitFor(async () => db.shard.stats().active === 1, { what: 'the statement to run' });
    await app!.close();
    const ended = expect.stringMatching(/^(shard_unavailable|commit_unknown)$/); // the answer to the cancel may be too late
    await expect(running).rejects.toMatchObject({ code: ended });
    app = undefined;
  });
});
