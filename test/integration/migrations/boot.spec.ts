import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SHARD_MIGRATIONS, Shards, migrate, resolveOptions, type ShardingOptions } from '@app/sharding';
import { FaultProxy, TestCluster, expectNoConnections } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import { call } from '../../support/bookmarks.js';
import { bootApp, listen, NOTES } from '../../support/deployment.js';
import type { INestApplication, LoggerService } from '@nestjs/common';
import type { MigrationInterface, QueryRunner } from 'typeorm';

class CreateNotes1700000000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(NOTES);
  }
  async down(): Promise<void> {}
}

class IndexNotes1700000000002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('create index notes_tenant_id on notes (tenant_id)');
  }
  async down(): Promise<void> {}
}

const SLOTS = [['0-8191'], ['8192-16383']];
const FRAMEWORK = SHARD_MIGRATIONS.map(({ name }) => name).join(', ');
const cluster = TestCluster.attach();
let urls: string[];
let app: INestApplication | undefined;
let warnings: string[];

beforeEach(async () => {
  urls = [];
  warnings = [];
  for (const label of ['shard0', 'shard1']) urls.push(await cluster.createDatabase({ label }));
});
afterEach(async () => {
  await app?.close();
  app = undefined;
  for (const url of urls) await expectNoConnections(url);
});

function options(rest: Partial<ShardingOptions> = {}): ShardingOptions {
  return {
    database: {
      connectTimeoutMs: 1000,
      shards: urls.map((primaryUrl, index) => ({ name: `shard${index}`, primaryUrl, slots: SLOTS[index]! })),
    },
    migrations: { shards: [CreateNotes1700000000001, IndexNotes1700000000002] },
    ...rest,
  };
}

const applied = async (given: ShardingOptions, shard?: string) =>
  migrate(resolveOptions(given), () => undefined, shard === undefined ? {} : { shard });

async function boot(rest: Partial<ShardingOptions> = {}): Promise<void> {
  const warn = (line: unknown) => void warnings.push(String(line));
  const logger: LoggerService = { log: () => undefined, error: () => undefined, warn };
  app = await bootApp(options(rest), {}, { logger });
}

const recorded = async (url: string) => runOnce(url, `select to_regclass('migrations') is not null as yes`);

describe('a boot', () => {
  it('refuses a half-migrated fleet, naming what is missing, and takes a migrated one', async () => {
    await applied(options({ migrations: { shards: [CreateNotes1700000000001] } }));
    await applied(options(), 'shard0');
    await expect(boot()).rejects.toMatchObject({
      code: 'migrations_pending',
      message:
        'migrations are pending: shard:shard1 lacks IndexNotes1700000000002. Run them (shardctl migrate, or migrate()) before the application starts; migrations.pending_migrations = "warn" starts all the same',
    });
    await applied(options());
    await boot();
  });

  it('only warns where it is told to', async () => {
    await applied(options(), 'shard0');
    const migrations = { ...options().migrations, pendingMigrations: 'warn' as const };
    await boot({ migrations });
    expect(warnings).toContain(
      `migrations are pending: shard:shard1 lacks ${FRAMEWORK}, CreateNotes1700000000001, IndexNotes1700000000002`,
    );
  });

  it('writes nothing', async () => {
    await expect(boot()).rejects.toMatchObject({ code: 'migrations_pending' });
    expect(await Promise.all(urls.map(recorded))).toEqual([[{ yes: false }], [{ yes: false }]]);
  });

  it('wants nothing of the framework on shards that it has never migrated', async () => {
    await boot({ migrations: {} });
  });

  it('wants all of the framework where it has been before', async () => {
    await applied(options({ migrations: {} }));
    await runOnce(urls[1]!, `delete from _sharding_migrations where name like 'SlotFunctions%'`);
    await expect(boot({ migrations: {} })).rejects.toThrow(
      'migrations are pending: shard:shard1 lacks SlotFunctions1796000000001.',
    );
  });

  it('runs with migrations that it does not know: of a newer version', async () => {
    await applied(options());
    await boot({ migrations: { shards: [CreateNotes1700000000001] } });
  });

  it('says what a role needs that may not read the records', async () => {
    await applied(options());
    await runOnce(urls[1]!, `drop role if exists reader_of_nothing`);
    await runOnce(urls[1]!, `create role reader_of_nothing login password 'none'`);
    const limited = new URL(urls[1]!);
    limited.username = 'reader_of_nothing';
    limited.password = 'none';
    const [shard0, shard1] = options().database!.shards!;
    const database = { shards: [shard0!, { ...shard1!, primaryUrl: limited.href }] };
    await expect(boot({ database })).rejects.toThrow(
      'shard:shard1 does not let this role read which migrations are applied: grant select on them',
    );
    await boot({ database, migrations: {} });
    expect(warnings).toEqual([]);
    await app!.close();
    await runOnce(urls[1]!, 'revoke select on _sharding_migrations from public');
    await boot({ database, migrations: {} });
    expect(warnings.some((line) => line.startsWith('shard:shard1 does not let this role read'))).toBe(true);
  });
});

describe('a boot by itself migrates', () => {
  it.each<[ShardingOptions['profile'], NonNullable<ShardingOptions['migrations']>['autoMigrate'], boolean]>([
    ['development', undefined, true],
    ['dev', undefined, true],
    ['development', 'never', false],
    [undefined, undefined, false],
    ['production', undefined, false],
    ['staging', 'development', false],
    [undefined, 'always', true],
  ])('under the profile %s with auto_migrate %s: %s', async (profile, autoMigrate, does) => {
    const migrations = { ...options().migrations, ...(autoMigrate && { autoMigrate }) };
    const booted = boot({ migrations, profile });
    if (does) await booted;
    else await expect(booted).rejects.toMatchObject({ code: 'migrations_pending' });
    expect(await recorded(urls[1]!)).toEqual([{ yes: does }]);
  });

  it('what it can reach', async () => {
    const [, kept = ''] = urls;
    await applied(options({ migrations: { shards: [CreateNotes1700000000001] } }));
    const proxy = await FaultProxy.start({ port: Number(new URL(kept).port) });
    try {
      await proxy.refuse();
      urls[1] = proxy.url(kept);
      await boot({ profile: 'development' });
      expect(await runOnce(urls[0]!, `select to_regclass('notes_tenant_id') is not null as yes`)).toEqual([
        { yes: true },
      ]);
    } finally {
      await app?.close();
      app = undefined;
      urls[1] = kept;
      await proxy.dispose();
    }
  });
});

describe('a shard that is down at boot', () => {
  let proxy: FaultProxy;
  let direct: string;

  beforeEach(async () => {
    direct = urls[1]!;
    proxy = await FaultProxy.start({ port: Number(new URL(direct).port) });
    await proxy.refuse();
    await applied(options(), 'shard0');
    urls[1] = proxy.url(direct);
  });
  afterEach(async () => {
    await app?.close();
    app = undefined;
    urls[1] = direct;
    await proxy.dispose();
  });

  const count = (shard: string) =>
    app!
      .get(Shards)
      .named(shard)
      .primary()
      .then((db) => db.query<object[]>('select count(*)::int as count from notes'));

  it('is looked at before it serves; the others are not affected; migrated, it serves without a restart', async () => {
    await boot();
    const base = await listen(app!);
    expect(await count('shard0')).toEqual([{ count: 0 }]);
    await expect(count('shard1')).rejects.toMatchObject({ code: 'shard_unavailable' });
    await proxy.accept();
    for (let turn = 0; turn < 5; turn++) {
      await expect(count('shard1')).rejects.toMatchObject({
        code: 'migrations_pending',
        message: `shard "shard1" lacks migrations: shard:shard1 lacks ${FRAMEWORK}, CreateNotes1700000000001, IndexNotes1700000000002. Run them (shardctl migrate, or migrate())`,
      });
    }
    const { status, body } = await call(`${base}/health`);
    expect([status, (body as { error: object }).error]).toMatchObject([
      503,
      { 'db:shard:shard1': { primary_detail: 'migrations_pending' } },
    ]);
    expect(await count('shard0')).toEqual([{ count: 0 }]);
    await applied(options());
    expect(await count('shard1')).toEqual([{ count: 0 }]);
    expect((await call(`${base}/health`)).status).toBe(200);
  });

  it('serves at once when it comes back migrated', async () => {
    urls[1] = direct;
    await applied(options());
    urls[1] = proxy.url(direct);
    await boot();
    await proxy.accept();
    expect(await count('shard1')).toEqual([{ count: 0 }]);
  });
});
