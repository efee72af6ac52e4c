import { expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { CONTROL_MIGRATIONS, SHARD_MIGRATIONS, migrate, resolveOptions } from '@app/sharding';
import { TestCluster } from '@test/support';
import { runOnce } from '../../support/admin-query.js';

const OBJECTS = `select relname as name from pg_class where relname like E'\\\\_sharding%' and relkind in ('r', 'S')
  union all select oid::regprocedure::text from pg_proc where proname like E'\\\\_sharding%' order by 1`;

it('everything can be reverted, last first, and applied again', async () => {
  const url = await TestCluster.attach().createDatabase({ label: 'reversible' });
  const apply = () => migrate(resolveOptions({ database: { primaryUrl: url } }), () => undefined);
  await apply();
  const before = await runOnce(url, OBJECTS);
  expect(before.length).toBeGreaterThan(10);
  const source = await new DataSource({ type: 'postgres', url }).initialize();
  const runner = source.createQueryRunner();
  for (const migration of CONTROL_MIGRATIONS.toReversed()) await migration.down(runner);
  await source.destroy();
  expect(await runOnce(url, OBJECTS)).toEqual([{ name: '_sharding_migrations' }]);
  await runOnce(url, 'delete from _sharding_migrations');
  await apply();
  expect(await runOnce(url, OBJECTS)).toEqual(before);
});

it('the control database has all that a shard has', () => {
  expect(SHARD_MIGRATIONS.filter((migration) => !CONTROL_MIGRATIONS.includes(migration))).toEqual([]);
});
