import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import {
  ShardedEntity,
  ShardingModule,
  Shards,
  shardedRepositoryToken,
  type ShardedRepository,
} from '@app/sharding';
import { waitFor } from '@test/support';
import { bootApp } from '../../support/deployment.js';
import { ReplicatedDeployment } from '../../support/replicated.js';
import type { INestApplication } from '@nestjs/common';

@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('notes')
class Remark {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column({ name: 'tenant_id', type: 'text' })
  tenantId!: string;

  @Column({ type: 'text' })
  body!: string;
}

@ShardedEntity({ tenantColumn: 'tenantId', reads: 'primary' })
@Entity('notes')
class Ledger extends Remark {}

const TENANT = 'acme'; // on shard0, which has the replica
const WHERE = "case when pg_is_in_recovery() then 'replica' else 'primary' end";

let servers: ReplicatedDeployment;
let app: INestApplication;
let shards: Shards;
let remarks: ShardedRepository<Remark>;
let ledger: ShardedRepository<Ledger>;

beforeAll(async () => {
  servers = await ReplicatedDeployment.start();
  app = await bootApp(
    { ...servers.options(), entities: [Remark, Ledger] },
    { imports: [ShardingModule.forFeature([Remark, Ledger])] },
  );
  shards = app.get(Shards);
  remarks = app.get(shardedRepositoryToken(Remark));
  ledger = app.get(shardedRepositoryToken(Ledger));
  await remarks.for(TENANT).insert({ body: 'first' });
  await servers.untilCaughtUp();
  await waitFor(async () => shards.named('shard0').replicaStatus()?.ready === true, { what: 'the replica' });
});
afterAll(async () => {
  await app.close();
  await servers.dispose();
});

/** In a context of its own, which has written nothing. */
const servedBy = (from: ShardedRepository<Remark>) =>
  shards.runFor(TENANT, async () => {
    const row = await from.createQueryBuilder('n').select(WHERE, 'by').getRawOne<{ by: string }>();
    return row?.by;
  });

it('reads are served by the replica, pinned ones and those of a pinned entity by the primary', async () => {
  expect(await servedBy(remarks)).toBe('replica');
  expect(await servedBy(remarks.onPrimary())).toBe('primary');
  expect(await servedBy(ledger)).toBe('primary');
  expect(await servedBy(ledger.onPrimary())).toBe('primary');
  const db = await shards.dbFor(TENANT);
  expect(await servedBy(remarks.on(db))).toBe('replica');
  expect(await servedBy(remarks.on(db).onPrimary())).toBe('primary');
  expect(
    await db.tx((tx) => remarks.on(tx, TENANT).createQueryBuilder('n').select(WHERE, 'by').getRawOne()),
  ).toEqual({
    by: 'primary',
  });
});

it('see what their own context has written while the replica does not have it yet; other contexts do not', async () => {
  expect(await servedBy(remarks)).toBe('replica'); // it has replayed what was written outside
  await servers.replica.pauseReplay();
  try {
    const seen = await shards.runFor(TENANT, async (db) => {
      await remarks.insert({ body: 'fresh' });
      await remarks.on(db).save({ body: 'fresh too' });
      return Promise.all([remarks.count(), remarks.on(db).count(), remarks.existsBy({ body: 'fresh' })]);
    });
    expect(seen).toEqual([3, 3, true]);
    expect(await servedBy(remarks)).toBe('replica');
    expect(await shards.runFor(TENANT, () => remarks.count())).toBe(1);
    expect(await shards.runFor(TENANT, () => remarks.onPrimary().count())).toBe(3);
  } finally {
    await servers.replica.resumeReplay();
  }
});
