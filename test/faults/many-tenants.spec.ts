import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { ConsoleLogger } from '@nestjs/common';
import { Shards } from '@app/sharding';
import { waitFor } from '@test/support';
import { Note, bootApp, deployment, listen, type Deployment } from '../support/deployment.js';
import { call } from '../support/bookmarks.js';
import type { INestApplication } from '@nestjs/common';

/** Tenants are chosen by clients: many, long, or aimed at one shard (threats S9, S10, S11). */
let databases: Deployment;
let app: INestApplication;

beforeAll(async () => {
  databases = await deployment(2);
});

afterEach(() => app.close());

const tenants = (count: number) =>
  Array.from({ length: count }, () => `t-${randomBytes(12).toString('hex')}`);

it('200,000 invented tenants leave nothing in memory', async () => {
  app = await bootApp(databases.options());
  const shards = app.get(Shards);
  const route = async (count: number) => {
    for (let index = 0; index < count; index++) await shards.shardFor(`invented-${index}-${'x'.repeat(180)}`);
  };
  await route(20_000);
  const before = process.memoryUsage().heapUsed;
  await route(200_000); // 200 bytes each: 40 MB if anything kept them
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20 * 2 ** 20);
});

it('a flood on the slots of one shard uses up that shard alone', async () => {
  app = await bootApp(databases.options({ poolSize: 2, connectTimeoutMs: 300 }));
  const shards = app.get(Shards);
  const placed = await Promise.all(
    tenants(400).map(async (tenant) => ({ tenant, shard: await shards.shardFor(tenant) })),
  );
  const flood = placed.filter(({ shard }) => shard.name === 'shard0').slice(0, 60);
  const others = placed.filter(({ shard }) => shard.name === 'shard1').slice(0, 60);
  const flooding = flood.map(async ({ tenant }) =>
    (await shards.dbFor(tenant)).query('select pg_sleep(0.3)'),
  );
  const ends = Promise.allSettled(flooding);
  await waitFor(async () => shards.all()[0]!.stats().waiting > 10, {
    what: 'the pool of shard0 to be used up',
  });
  const counts = await Promise.all(
    others.map(async ({ tenant }) =>
      (await shards.dbFor(tenant)).getRepository(Note).countBy({ tenantId: tenant }),
    ),
  );
  expect(counts).toEqual(counts.map(() => 0));
  const refused = (await ends)
    .filter((end) => end.status === 'rejected')
    .map(({ reason }) => (reason as { code: string }).code);
  expect(new Set(refused)).toEqual(new Set(['shard_unavailable']));
});

it('no tenant appears in health, errors or the log', async () => {
  const lines: string[] = [];
  class Recorder extends ConsoleLogger {
    override printMessages(messages: unknown[]): void {
      lines.push(...messages.map(String));
    }
  }
  app = await bootApp(databases.options({ slowQueryThresholdMs: 1 }), {}, { logger: new Recorder() });
  const url = await listen(app);
  const shards = app.get(Shards);
  const invented = tenants(1000);
  const notes = async (tenantId: string) => (await shards.dbFor(tenantId)).getRepository(Note);
  await Promise.all(
    invented.map(async (tenantId) => (await notes(tenantId)).insert({ tenantId, body: 'b' })),
  );
  const db = await shards.dbFor(invented[0]!);
  await db.query('select pg_sleep(0.02), $1::text', [invented[0]]); // slow: its text is logged, its parameters are not
  const answers = [
    await call(`${url}/health`),
    await call(`${url}/nowhere`, { tenant: `${invented[0]}\u00e9` }),
  ];
  expect(lines.some((line) => line.startsWith('slow statement'))).toBe(true);
  expect([...lines, JSON.stringify(answers)].filter((text) => text.includes('t-'))).toEqual([]);
});

it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
  '%s is an ordinary tenant',
  async (tenantId) => {
    app = await bootApp(databases.options());
    const shards = app.get(Shards);
    const db = await shards.dbFor(tenantId);
    await db.getRepository(Note).insert({ tenantId, body: 'mine' });
    expect(await db.getRepository(Note).countBy({ tenantId })).toBe(1);
    expect((await shards.shardFor(tenantId)).name).toBe(db.shard.name);
  },
);
