import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Inject, Injectable, Module } from '@nestjs/common';
import { DirectoryConnection, DirectoryRouter, Shards } from '@app/sharding';
import { waitFor } from '@test/support';
import { call } from '../../support/bookmarks.js';
import { listen, Note } from '../../support/deployment.js';
import { Placed, placesOf } from './placed.js';
import { RecordedLog } from './recorded-log.js';
import { Controller, Get } from '@nestjs/common';

@Controller('notes')
class NotesController {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  @Get()
  async count(): Promise<object> {
    const { key } = await this.shards.locate();
    const db = await this.shards.current();
    return { notes: await db.getRepository(Note).countBy({ tenantId: String(key) }) };
  }
}

let placed: Placed;

beforeEach(async () => {
  placed = await Placed.create();
});
afterEach(() => placed.closeApps());

const flag = { directoryShardRouter: true } as const;

async function directoryOf(url: string): Promise<object | undefined> {
  const { body } = await call(`${url}/health`);
  return (body as { details: Record<string, object> }).details['db:directory'];
}

it('shows the directory, whole, without a key of it', async () => {
  await placed.row('secret-tenant', 'shard1');
  await placed.row('other-tenant', null, 0);
  const app = await placed.boot({ database: flag });
  const url = await listen(app);
  const [row] = await placed.control('select revision from _sharding_revision');
  const shown = await directoryOf(url);
  expect(shown).toEqual({
    status: 'up',
    mode: 'snapshot',
    rows: 2,
    revision: Number(row!['revision']),
    listening: true,
    age_ms: expect.any(Number),
    unknown_shard_rows: 0,
    unknown_group_rows: 0,
    outside_group_rows: 0,
  });
  expect((shown as { age_ms: number }).age_ms).toBeLessThan(3000);
  const text = await (await fetch(`${url}/health`)).text();
  expect(text).not.toContain('tenant');
});

it('shows nothing of a directory that is not used', async () => {
  const url = await listen(await placed.boot());
  expect(await directoryOf(url)).toBeUndefined();
});

it('fails one tenant by a row that names an unknown shard, and counts the row', async () => {
  const log = new RecordedLog();
  const app = await placed.boot({ database: flag }, { controllers: [NotesController] }, { logger: log });
  const url = await listen(app);
  await placed.row('acme', 'shrad1');
  await placed.settled();
  const answers = await Promise.all(['acme', 'globex'].map((tenant) => call(`${url}/notes`, { tenant })));
  expect(answers.map(({ status, body }) => [status, body])).toEqual([
    [
      503,
      {
        statusCode: 503,
        code: 'invalid_pin',
        message: `the directory's row of routing key "acme" names shard "shrad1", which is not configured: correct the row`,
      },
    ],
    [200, { notes: 0 }],
  ]);
  expect(await directoryOf(url)).toMatchObject({ status: 'up', rows: 1, unknown_shard_rows: 1 });
  expect(log.warnings('directory')).toEqual([
    'error: the row of routing key "acme" names shard "shrad1", which is not configured: its requests are refused',
  ]);
  await placed.row('acme', 'shard1');
  await placed.settled();
  expect((await call(`${url}/notes`, { tenant: 'acme' })).body).toEqual({ notes: 0 });
  expect(await directoryOf(url)).toMatchObject({ unknown_shard_rows: 0 });
  expect(log.warnings('directory')).toHaveLength(1);
});

it('has a component for each directory, also for one that a module opens for itself', async () => {
  @Injectable()
  class Reports {
    readonly router: DirectoryRouter;
    constructor(@Inject(DirectoryConnection) connection: DirectoryConnection) {
      this.router = new DirectoryRouter(connection, { snapshotMax: 1 });
    }
  }
  @Module({ providers: [Reports] })
  class ReportsModule {}
  await placed.row('a', 'shard0');
  await placed.row('b', 'shard0');
  const app = await placed.boot({ database: flag }, { imports: [ReportsModule] });
  const { body } = await call(`${await listen(app)}/health`);
  const { details } = body as { details: Record<string, { mode?: string }> };
  expect(Object.entries(details).map(([key, { mode }]) => [key, mode])).toEqual([
    ['db:control', undefined],
    ['db:shard:shard0', undefined],
    ['db:shard:shard1', undefined],
    ['db:directory', 'snapshot'],
    ['db:directory:2', 'per_key'],
  ]);
});

it('looks keys up where there are too many, and keeps all of them again when there are few', async () => {
  const app = await placed.boot({ database: { ...flag, directorySnapshotMax: 2 } });
  const url = await listen(app);
  const byHash = (key: string) => app.get(Shards).topology.shardOf(key).name;
  for (const key of ['acme', 'b', 'c']) await placed.row(key, 'shard1');
  await waitFor(async () => ((await directoryOf(url)) as { mode: string }).mode === 'per_key', {
    what: 'the third row to be one too many',
  });
  expect(await placesOf(app, 'acme', 'b', 'hooli')).toEqual(['shard1', 'shard1', byHash('hooli')]);
  const [row] = await placed.control('select revision from _sharding_revision');
  expect(await directoryOf(url)).toEqual({
    status: 'up',
    mode: 'per_key',
    looked_up_keys: 3,
    revision: Number(row!['revision']),
    listening: true,
    age_ms: expect.any(Number),
    unknown_shard_rows: 0,
    unknown_group_rows: 0,
    outside_group_rows: 0,
  });
  await placed.control(`delete from _sharding_directory where routing_key <> 'acme'`);
  await waitFor(async () => ((await directoryOf(url)) as { mode: string }).mode === 'snapshot', {
    what: 'the directory to be in memory again',
  });
  expect(await placesOf(app, 'acme', 'b')).toEqual(['shard1', 'shard1']);
});
