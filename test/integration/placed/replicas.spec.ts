import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ShardIdentifier, SlotUuid } from '@app/routing';
import {
  ShardedEntity,
  ShardedId,
  shardedRepositoryToken,
  ShardingModule,
  Shards,
  type PlacedRepository,
  type ShardedRepository,
} from '@app/sharding';
import { waitFor } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import { bootApp } from '../../support/deployment.js';
import { ReplicatedDeployment } from '../../support/replicated.js';
import type { INestApplication } from '@nestjs/common';
import type { Place, ShardingStrategy } from '@app/routing';

/** A view tells which server answers. */
const TABLES = `create table links_data (id uuid primary key, tenant_id text not null);
  create view links as select id, tenant_id, pg_is_in_recovery() as replica from links_data;
  create view tenant_links as select * from links`;

class FirstShard implements ShardingStrategy<unknown> {
  readonly routesById = true;
  ofEntity(): Place {
    return ShardIdentifier.DEFAULT;
  }
  ofId(): Place {
    return ShardIdentifier.DEFAULT;
  }
}

@ShardedEntity({ strategy: new FirstShard() })
@Entity('links')
class Link {
  @PrimaryColumn({ type: 'uuid' })
  id!: string;

  @Column({ type: 'boolean' })
  replica!: boolean;
}

@ShardedEntity({ strategy: new FirstShard(), reads: 'primary' })
@Entity('links')
class PrimaryLink extends Link {}

@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('tenant_links')
class TenantLink {
  @ShardedId()
  id!: ShardedId<TenantLink>;

  @Column({ name: 'tenant_id', type: 'text' })
  tenantId!: string;

  @Column({ type: 'boolean' })
  replica!: boolean;
}

const ENTITIES = [Link, PrimaryLink, TenantLink];
const id = SlotUuid.generate<TenantLink>('acme'); // on shard0, which has the replica

let servers: ReplicatedDeployment;
let app: INestApplication;

beforeAll(async () => {
  servers = await ReplicatedDeployment.start();
  for (const shard of ['shard0', 'shard1']) await runOnce(servers.primary.url(shard), TABLES);
  await servers.primary.query(`insert into links_data values ($1, 'acme')`, [id], 'shard0');
  app = await bootApp(
    { ...servers.options(), entities: ENTITIES },
    { imports: [ShardingModule.forFeature(ENTITIES)] },
  );
  await servers.untilCaughtUp();
  const shard = app.get(Shards).named('shard0');
  await waitFor(async () => shard.replicaStatus()?.ready === true, { what: 'the replica' });
});
afterAll(async () => {
  await app?.close();
  await servers?.dispose();
});

it('reads follow the read policy, and those of a pinned chain, entity or transaction the primary', async () => {
  const links = app.get<PlacedRepository<Link>>(shardedRepositoryToken(Link));
  const pinned = app.get<PlacedRepository<PrimaryLink>>(shardedRepositoryToken(PrimaryLink));
  const db = await app.get(Shards).dbOn('shard0');
  const answers = [
    await links.findById(id),
    (await links.findByIds([id]))[0],
    await links.on(db).findOneBy({ replica: true }),
    (await links.find({ where: { replica: true }, scatter: true }))[0],
    await links.onPrimary().findById(id),
    await pinned.findById(id),
    (await links.onPrimary().find({ scatter: true }))[0],
    await db.tx(() => links.findById(id)),
  ];
  expect(answers.map((link) => link?.replica)).toEqual([true, true, true, true, false, false, false, false]);
});

it('an id of a tenant’s row is read as the policy says, with the tenant and without', async () => {
  const links = app.get<ShardedRepository<TenantLink>>(shardedRepositoryToken(TenantLink));
  const shards = app.get(Shards);
  const answers = [
    await links.findById(id),
    await shards.runFor('acme', () => links.findById(id)),
    await links.onPrimary().findById(id),
    await shards.runFor('acme', () => links.onPrimary().findById(id)),
    await shards.runFor('acme', (db) => db.tx(() => links.findById(id))),
  ];
  expect(answers.map((link) => link?.replica)).toEqual([true, true, false, false, false]);
});
