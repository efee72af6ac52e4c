import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  migrate,
  migrationStatus,
  resolveOptions,
  Shards,
  type MigrateOptions,
  type ShardDb,
} from '@app/sharding';
import { FaultProxy } from '@test/support';
import { Note } from '../../support/deployment.js';
import { POOLERS, PooledDeployment } from '../../support/poolers.js';
import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The one server connection behind the pooler serves tenant A, then tenant B: nothing of A is left (threat S12). */
describe.each(POOLERS)('one server connection behind %s', (_name, start) => {
  let place: PooledDeployment;
  let proxy: FaultProxy;
  let db: ShardDb;

  beforeAll(async () => {
    place = await PooledDeployment.start(start, { servers: 1 });
    proxy = await FaultProxy.start(place.pooler);
  });
  beforeEach(async () => {
    const shards = [{ name: 'shard0', primaryUrl: proxy.url(place.direct) }];
    const app = await place.boot({ poolSize: 1, shards });
    db = await app.get(Shards).dbOn('shard0');
  });
  afterEach(() => place.closeApps());
  afterAll(async () => {
    await proxy.dispose();
    await place.dispose();
  });

  /** What the next tenant finds in the session. */
  const found = async () => {
    const [row] = await db.tx((tx) =>
      tx.query<object[]>(
        `select coalesce(current_setting('app.tenant', true), '') as tenant,
          current_setting('search_path') as path,
          (select count(*)::int from pg_prepared_statements) as prepared,
          (select count(*)::int from pg_listening_channels()) as channels,
          (select count(*)::int from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks,
          to_regclass('pg_temp.mine') as temporary, current_user = session_user as own`,
      ),
    );
    return row;
  };
  const NOTHING = {
    tenant: '',
    path: '"$user", public',
    prepared: 0,
    channels: 0,
    locks: 0,
    temporary: null,
    own: true,
  };

  const SESSION_STATEMENTS = [
    [`set app.tenant = 'acme'`],
    [`select set_config('app.tenant', 'acme', false)`],
    [`do $$ begin perform set_config('app.tenant', 'acme', false); end $$`],
    ['set search_path = elsewhere'],
    ['listen mine'],
    ['prepare mine as select 1'],
    ['create temp table mine as select 1 as secret'],
    ['select 1 as secret into temp mine'],
    ['select pg_advisory_lock(42)'],
    ['set role pg_monitor'],
  ];
  const refused = {
    code: 'invalid_options',
    message: expect.stringMatching(
      /behind a transaction-mode pooler, .* use SET LOCAL, set_config\(\.\.\., true\)/,
    ),
  };

  it.each(SESSION_STATEMENTS)('refuses, and never sends: %s', async (sql) => {
    await expect(db.query(sql)).rejects.toMatchObject(refused);
    await expect(db.tx((tx) => tx.query(sql))).rejects.toMatchObject(refused);
    await expect(db.getRepository(Note).query(sql)).rejects.toMatchObject(refused);
    const runner = db.manager.connection.createQueryRunner();
    await expect(runner.query(sql)).rejects.toMatchObject(refused);
    await runner.release();
    await expect(db.reader().query(sql)).rejects.toMatchObject({ code: 'invalid_options' });
    expect(await found()).toEqual(NOTHING);
  });

  it('a refused statement does not spoil its transaction', async () => {
    const value = await db.tx(async (tx) => {
      await expect(tx.query(`set app.tenant = 'acme'`)).rejects.toMatchObject(refused);
      return tx.query('select 1 as one');
    });
    expect(value).toEqual([{ one: 1 }]);
  });

  it('allows what ends with the transaction, which the next one does not see', async () => {
    const seen = await db.tx(async (tx) => {
      await tx.query(`set local app.tenant = 'acme'`);
      await tx.query(`select set_config('app.other', $1, $2)`, ['globex', true]);
      await tx.query('select pg_advisory_xact_lock(42)');
      await tx.query('create temp table mine on commit drop as select 1');
      await tx.query(`set constraints all deferred`);
      return tx.query(
        `select current_setting('app.tenant') as tenant, current_setting('app.other') as other`,
      );
    });
    expect(seen).toEqual([{ tenant: 'acme', other: 'globex' }]);
    expect(await found()).toEqual(NOTHING);
  });

  it('sends no reset, which would hit the session of somebody else', async () => {
    proxy.cutOn(/discard/i, 'before');
    await db.query('select 1');
    await db.reader().query('select 1');
    await db.tx((tx) => tx.query('select 1'));
    expect(await found()).toEqual(NOTHING);
    expect(proxy.injections).toBe(0);
  });

  it('keeps the connection of raw SQL', async () => {
    for (let turn = 0; turn < 5; turn++) await db.query('select 1');
    expect(proxy.connections).toBe(1);
  });

  it('a transaction that a runner of the application left open ends with its connection', async () => {
    const runner = db.manager.connection.createQueryRunner();
    await runner.query('begin');
    await runner.query(`insert into notes (tenant_id, body) values ('acme', 'never committed')`);
    await runner.release();
    await db.getRepository(Note).insert({ tenantId: 'globex', body: 'acknowledged' });
    expect(await place.query('select body from notes')).toEqual([{ body: 'acknowledged' }]);
  });

  describe('migrations', () => {
    class SetsLimits1764460800000 implements MigrationInterface {
      async up(runner: QueryRunner): Promise<void> {
        await runner.query(`set lock_timeout = '5s'`);
        await runner.query('create table made (id int)');
      }
      async down(runner: QueryRunner): Promise<void> {
        await runner.query('drop table made');
      }
    }
    const settingsOf = (maintenance: object) => {
      const shards = [{ name: 'shard0', primaryUrl: place.pooler.url(place.direct), ...maintenance }];
      const control = 'maintenanceUrl' in maintenance ? { maintenanceUrl: place.directControl } : {}; // numbers the shards
      const options = {
        ...place.options({ shards, ...control }),
        migrations: { shards: [SetsLimits1764460800000] },
      };
      return resolveOptions(options);
    };
    const migrateBy = (maintenance: object, choice: MigrateOptions = { shard: 'shard0' }) =>
      migrate(settingsOf(maintenance), () => undefined, choice);

    it('hold a lock in their session, so they need maintenance_url, and say so', async () => {
      await expect(migrateBy({}, {})).rejects.toMatchObject({
        code: 'invalid_options',
        message:
          'control, shard:shard0: migrations hold a lock in their session, which a transaction-mode pooler does not keep; set maintenance_url, a direct connection',
      });
      await expect(migrateBy({ pooler: 'none' })).rejects.toMatchObject({ code: 'migration_failed' });
      await migrateBy({ maintenanceUrl: place.direct });
      const through = await migrationStatus(settingsOf({})); // reading needs no session
      expect(through.map(({ failure, pending }) => [failure, pending])).toEqual([
        [undefined, []],
        [undefined, []],
      ]);
      expect(await place.query(`select to_regclass('made')::text as made`)).toEqual([{ made: 'made' }]);
    });
  });
});
