import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { NestFactory } from '@nestjs/core';
import ts from 'typescript';
import { RoutingContext, Shards, ShardingModule, loadShardingOptions, resolveOptions } from '@app/sharding';
import { TestCluster, expectNoConnections } from '@test/support';
import { runOnce } from '../support/admin-query.js';
import { call } from '../support/bookmarks.js';
import { listen } from '../support/deployment.js';
import type { INestApplication, Type } from '@nestjs/common';
import type { ShardDb, ShardingOptions } from '@app/sharding';

/** Every code block of the README with a file name is written out, compiled strictly and used. */
const ROOT = resolve('.');
const FOLDER = join(ROOT, 'test/.tmp/readme');
const readme = readFileSync('README.md', 'utf8');
const files = [...readme.matchAll(/^```(?:ts|toml)\n(?:\/\/|#) ([\w.-]+)[^\n]*\n([\s\S]*?)^```/gm)].map(
  ([, name = '', body = '']) => ({ name, body }),
);

type Snippets = Record<string, never>;
const load = async <T = Snippets>(name: string): Promise<T> => (await import(join(FOLDER, name))) as T;

let urls: string[];
let app: INestApplication | undefined;

beforeAll(async () => {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  for (const { name, body } of files) writeFileSync(join(FOLDER, name), body);
  const cluster = TestCluster.attach();
  urls = [];
  for (const label of ['control', 'shard0', 'shard1']) urls.push(await cluster.createDatabase({ label }));
  await migrated();
});

async function migrated(): Promise<string[]> {
  const { migrateAll } = await load<{
    migrateAll: (options: ShardingOptions, log: (line: string) => void) => Promise<void>;
  }>('migrate.ts');
  const lines: string[] = [];
  await migrateAll(await options(), (line) => lines.push(line));
  return lines;
}

afterAll(async () => {
  await app?.close();
  for (const url of urls) await expectNoConnections(url);
  rmSync(FOLDER, { recursive: true, force: true });
});

const environment = () => ({
  SHARDING_DATABASE__PRIMARY_URL: urls[0],
  SHARDING_DATABASE__SHARDS__0__PRIMARY_URL: urls[1],
  SHARDING_DATABASE__SHARDS__1__PRIMARY_URL: urls[2],
  SHARDING_MIGRATIONS__SHARDS: join(FOLDER, '*.migration.ts'),
});

const options = async (): Promise<ShardingOptions> => {
  const { Bookmark } = await load<{ Bookmark: Type }>('bookmark.entity.ts');
  const loaded = loadShardingOptions({ file: join(FOLDER, 'sharding.toml'), environment: environment() });
  return { ...loaded, entities: [Bookmark] };
};

it('has the snippets that this test uses', () => {
  const used = `
    bookmark.entity.ts create-bookmarks.migration.ts app.module.ts main.ts sharding.toml slots.ts
    reports.service.ts pages.module.ts all-pages.controller.ts rename.ts saved.controller.ts recent.service.ts
    invoice-job.ts plans.service.ts whales.service.ts whale.router.ts pinned-whales.ts residency.ts
    wallet.entity.ts wallets.controller.ts country.strategy.ts account.entity.ts accounts.service.ts
    tenancy.ts configured.module.ts migrate.ts tenant-mover.ts purse.entity.ts pay.action.ts greeting.module.ts gift.saga.ts counting.service.ts counting.module.ts status.module.ts metered.module.ts bounded.ts`;
  expect(files.map(({ name }) => name)).toEqual(used.trim().split(/\s+/));
});

it('compiles strictly', () => {
  const { config } = ts.readConfigFile('tsconfig.json', (path) => ts.sys.readFile(path)) as {
    config: { compilerOptions: { paths: object } };
  };
  const { options: base } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const paths = {
    ...base.paths,
    'nestjs-sharding': ['./libs/sharding/src/index.ts'],
    'nestjs-sharding/actions': ['./libs/actions/src/index.ts'],
    'nestjs-sharding/jobs': ['./libs/jobs/src/index.ts'],
    'nestjs-sharding/health': ['./libs/sharding/src/health/index.ts'],
    'nestjs-sharding/metrics': ['./libs/sharding/src/metrics/index.ts'],
    'nestjs-sharding/routing': ['./libs/routing/src/index.ts'],
  };
  const program = ts.createProgram(
    files.filter(({ name }) => name.endsWith('.ts')).map(({ name }) => join(FOLDER, name)),
    { ...base, paths, noEmit: true, baseUrl: undefined as never },
  );
  const problems = program
    .getRootFileNames() // and not the library, which a check has compiled
    .flatMap((name) => ts.getPreEmitDiagnostics(program, program.getSourceFile(name)))
    .map(
      ({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    );
  expect(problems).toEqual([]);
}, 60_000);

describe('the quick start', () => {
  beforeAll(async () => {
    for (const [name, value] of Object.entries({
      ...environment(),
      SHARDING_CONFIG: join(FOLDER, 'sharding.toml'),
    })) {
      process.env[name] = value;
    }
    const { AppModule } = await load<{ AppModule: Type }>('app.module.ts');
    app = await NestFactory.create(AppModule, { logger: false, abortOnError: false });
  });

  it('serves each tenant from its shard', async () => {
    const url = await listen(app!);
    await runOnce(urls[1]!, `insert into bookmarks (tenant_id, url) values ('acme', 'https://a.example')`);
    expect(await call(`${url}/bookmarks`, { tenant: 'acme' })).toMatchObject({
      body: [{ id: '1', tenantId: 'acme', url: 'https://a.example' }],
    });
    expect(await call(`${url}/bookmarks`, { tenant: 'globex' })).toMatchObject({ status: 200, body: [] });
  });

  it('feeds the service, the transaction and the control database', async () => {
    const shards = app!.get(Shards);
    const { ReportsService } = await load<{ ReportsService: new (shards: Shards) => Reports }>(
      'reports.service.ts',
    );
    const reports = new ReportsService(shards);
    const counts = [await reports.of('acme'), await reports.inJob({ tenantId: 'acme' })];
    expect([...counts, await reports.of('globex')]).toEqual([1, 1, 0]);
    expect(await reports.everywhere()).toEqual([
      ['shard0', 1],
      ['shard1', 0],
    ]);
    await expect(reports.mine('acme')).rejects.toMatchObject({ code: 'no_routing_key' });
    const { renameAll } = await load<{
      renameAll: (db: ShardDb, tenant: string, url: string) => Promise<number>;
    }>('rename.ts');
    expect(await renameAll(await shards.dbFor('acme'), 'acme', 'https://b.example')).toBe(1);
  });

  it('reads, carries a session and bounds a statement', async () => {
    const shards = app!.get(Shards);
    const { RecentService } = await load<{ RecentService: new (shards: Shards) => Recent }>(
      'recent.service.ts',
    );
    const recent = new RecentService(shards);
    expect(await recent.count('acme')).toBe(1);
    expect(await recent.report('acme')).toEqual({ bookmarks: 1, rows: [{ all: 1 }] });
    const { InvoiceJob } = await load<{ InvoiceJob: new (context: RoutingContext, shards: Shards) => Job }>(
      'invoice-job.ts',
    );
    const job = new InvoiceJob(app!.get(RoutingContext), shards);
    const payload = await shards.runFor('acme', () => job.enqueue('acme'));
    expect(await job.run(payload)).toBe(1);
    const { slowReport } = await load<{ slowReport: (db: ShardDb, signal: AbortSignal) => Promise<unknown> }>(
      'bounded.ts',
    );
    const db = await shards.dbFor('acme');
    expect(await slowReport(db, new AbortController().signal)).toHaveLength(1);
    await expect(slowReport(db, AbortSignal.abort())).rejects.toMatchObject({ code: 'aborted' });
  });
});

interface Recent {
  count(tenantId: string): Promise<number>;
  report(tenantId: string): Promise<unknown>;
}

interface Job {
  enqueue(tenantId: string): Promise<{ tenantId: string }>;
  run(payload: { tenantId: string }): Promise<number>;
}

interface Reports {
  mine(tenantId: string): Promise<number>;
  of(tenantId: string): Promise<number>;
  inJob(job: { tenantId: string }): Promise<number>;
  everywhere(): Promise<unknown[]>;
}

async function booted<T>(root: Type, use: (running: INestApplication) => Promise<T>): Promise<T> {
  const running = await NestFactory.create(root, { logger: false, abortOnError: false });
  try {
    await running.init();
    return await use(running);
  } finally {
    await running.close();
  }
}

const rootOf = async (
  extra: { imports?: Type[]; providers?: Type[] },
  sharding: ShardingOptions & { health?: false },
) => {
  const { Module } = await import('@nestjs/common');
  class Root {}
  Module({
    imports: [ShardingModule.forRoot(sharding), ...(extra.imports ?? [])],
    providers: extra.providers ?? [],
  })(Root);
  return Root;
};

describe('the other snippets', () => {
  it('slots', async () => {
    expect(await load('slots.ts')).toMatchObject({
      slot: 7695,
      moved: [{ group: 0, slot: 8191, from: 'a', to: 'b' }],
    });
  });

  it('control database', async () => {
    const { PlansService } = await load<{ PlansService: Type<{ answer(): Promise<unknown> }> }>(
      'plans.service.ts',
    );
    const root = await rootOf({ providers: [PlansService] }, await options());
    await booted(root, async (running) =>
      expect(await running.get(PlansService).answer()).toEqual([{ answer: 42 }]),
    );
  });

  it('asynchronous configuration with tenancy and health paths', async () => {
    const { configured } = await load<{ configured: (urls: string[]) => Type }>('configured.module.ts');
    await booted(configured(urls.slice(1)), async (running) => {
      const url = await listen(running);
      expect((await call(`${url}/ready`)).status).toBe(200);
      expect(await call(`${url}/nowhere`)).toMatchObject({ status: 400, body: { code: 'no_routing_key' } });
      expect((await call(`${url}/login`)).status).toBe(404);
      expect(await call(`${url}/nowhere`, { tenant: 'acme' })).toMatchObject({
        status: 403,
        body: { code: 'cross_tenant' },
      });
    });
  });

  it('migrations are skipped the second time', async () => {
    expect(await migrated()).toEqual(
      ['control', 'shard:shard0', 'shard:shard1'].map((target) => `target=${target} up to date`),
    );
  });

  it('health in a controller of the application', async () => {
    const { StatusModule } = await load<{ StatusModule: Type }>('status.module.ts');
    const root = await rootOf({ imports: [StatusModule] }, { ...(await options()), health: false });
    await booted(root, async (running) => {
      const { body } = await call(`${await listen(running)}/status`);
      expect(Object.keys((body as { details: object }).details)).toEqual([
        'db:control',
        'db:shard:shard0',
        'db:shard:shard1',
      ]);
    });
  });
});

it('metrics in a registry of the application', async () => {
  const { metered } = await load<{ metered: (sharding: ShardingOptions) => Type }>('metered.module.ts');
  await booted(metered(await options()), async (running) => {
    const text = await (await fetch(`${await listen(running)}/internal/metrics`)).text();
    expect(text).toMatch(/^sharding_slots\{shard="shard0"\} 8192$/m);
    expect(text).toMatch(/^process_cpu_seconds_total /m);
  });
});

it('shows a configuration that resolves', async () => {
  expect(resolveOptions(await options()).shards).toHaveLength(2);
});
