import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Controller, Inject, Post } from '@nestjs/common';
import request from 'supertest';
import { Shards } from '@app/sharding';
import { lowerFence, raiseFence } from '@app/sharding/operator';
import { installControl } from '../../support/control-database.js';
import { Note, bootApp, deployment } from '../../support/deployment.js';
import { FenceShard, order } from './fence-shard.js';
import type { INestApplication } from '@nestjs/common';

@Controller('notes')
class NotesController {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  @Post()
  async add(): Promise<string> {
    const db = await this.shards.current();
    await db.getRepository(Note).insert({ tenantId: 'acme', body: 'private' });
    return 'added';
  }

  @Post('in-tx')
  async addTwo(): Promise<string> {
    const db = await this.shards.current();
    await db.tx(async (tx) => {
      await tx.query(`insert into notes (tenant_id, body) values ('globex', 'first')`);
      await tx.getRepository(Note).insert({ tenantId: 'acme', body: 'private' });
    });
    return 'added';
  }
}

const acme = order({ keys: ['acme'] });
let app: INestApplication;
let shard: FenceShard;

beforeAll(async () => {
  const databases = await deployment(1);
  const [url = ''] = databases.shards;
  await installControl(url);
  shard = await FenceShard.on(url);
  app = await bootApp(databases.options(), { controllers: [NotesController] });
});

afterAll(async () => {
  await app.close();
  await shard.close();
});

const post = (path: string) => request(app.getHttpServer()).post(path).set('x-tenant-id', 'acme');

it('a write of a key that moves is shard_moved, to be tried again, and works afterwards', async () => {
  await raiseFence(shard.mover, acme, 60_000);
  for (const path of ['/notes', '/notes/in-tx']) {
    const answer = await post(path);
    expect([answer.status, answer.headers['retry-after'], answer.body]).toEqual([
      409,
      '1',
      {
        statusCode: 409,
        code: 'shard_moved',
        message:
          'the row was not written: its key is being moved from shard "shard0" to another shard, or lives on another one now; try again',
      },
    ]);
  }
  expect(await shard.query('select body from notes')).toEqual([]);
  await lowerFence(shard.mover, acme);
  await post('/notes/in-tx').expect(201, 'added');
});

it("keeps the driver's error as its cause", async () => {
  await raiseFence(shard.mover, acme, 60_000);
  const db = await app.get(Shards).dbOn('shard0');
  const write = db.query(`update notes set body = 'x' where tenant_id = 'acme'`);
  await expect(write).rejects.toMatchObject({
    code: 'shard_moved',
    retryable: true,
    cause: { driverError: { code: 'SHM01' } },
  });
});
