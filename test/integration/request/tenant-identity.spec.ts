import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Shards } from '@app/sharding';
import { expectNoConnections } from '@test/support';
import { Note, bootApp, deployment, listen, type Deployment } from '../../support/deployment.js';
import { sendRaw } from './raw-request.js';
import { CurrentController, NotesController } from './tenant-app.js';
import type { INestApplication } from '@nestjs/common';

/** Cases C01 and C07: one tenant id in a header and in a job is one tenant, whatever its letters. */
let databases: Deployment;
let app: INestApplication;
let url: string;

beforeAll(async () => {
  databases = await deployment(2);
  app = await bootApp(
    { ...databases.options(), health: false },
    { controllers: [NotesController, CurrentController] },
  );
  url = await listen(app);
});

afterAll(async () => {
  await app.close();
  for (const database of databases.shards) await expectNoConnections(database);
});

const ask = (path: string, tenant: string | Buffer) =>
  sendRaw(url, [
    `GET ${path} HTTP/1.1`,
    'Host: localhost',
    Buffer.concat([Buffer.from('x-tenant-id: '), Buffer.from(tenant as string)]),
  ]);

describe('a tenant', () => {
  it.each([
    'münchen🏢',
    'mu\u0308nchen',
    '\ufeffacme',
    '株式会社',
    'ÿ',
    'Ω'.repeat(127),
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    "'; drop table notes; --",
  ])('sees in a request what a job wrote: %j', async (tenant) => {
    const shards = app.get(Shards);
    const db = await shards.dbFor(tenant);
    await db.getRepository(Note).insert({ tenantId: tenant, body: 'by dbFor' });
    await shards.runFor(tenant, async (own) => {
      await own.getRepository(Note).insert({ tenantId: tenant, body: 'by runFor' });
    });
    const expected = { tenant, shard: db.shard.name, notes: ['by dbFor', 'by runFor'] };
    expect(await ask('/notes', tenant)).toEqual({ status: 200, body: expected });
    expect(await ask('/current', tenant)).toEqual({ status: 200, body: expected });
    expect(shards.topology.shardOfSlot(shards.slotOf(tenant)).name).toBe(db.shard.name);
  });

  it('has no silent double: bytes of another encoding are refused', async () => {
    for (const bytes of [Buffer.from('münchen', 'latin1'), Buffer.from([0xfc])]) {
      expect(await ask('/notes', bytes)).toEqual({
        status: 400,
        body: { statusCode: 400, code: 'invalid_tenant', message: 'the tenant of the request must be UTF-8' },
      });
    }
  });

  it('is not its other spelling: nothing is folded', async () => {
    for (const other of ['München🏢', 'munchen🏢', 'mÃ¼nchenð']) {
      expect(await ask('/notes', other)).toMatchObject({ status: 200, body: { tenant: other, notes: [] } });
    }
  });
});
