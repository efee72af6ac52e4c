import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { ShardingModule } from '@app/sharding';
import { freshDatabases, type FreshDatabases } from './fresh-databases.js';
import type { INestApplication, ModuleMetadata, Type } from '@nestjs/common';
import type { NestApplicationOptions } from '@nestjs/common';
import type { ShardingOptions, ShardingSetup } from '@app/sharding';

/** The sharded table of the tests. */
@Entity('notes')
export class Note {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column({ name: 'tenant_id', type: 'text' })
  tenantId!: string;

  @Column({ type: 'text' })
  body!: string;
}

export { NOTES } from './fresh-databases.js';

/** Fresh databases, and the options of an application over them. */
export interface Deployment extends FreshDatabases {
  /** Options for `ShardingModule.forRoot`: shards `shard0`, `shard1` ... with the auto-split, tenant by header. */
  options(database?: ShardingOptions['database']): ShardingOptions & { database: object };
}

/** Needs the shared server of Jest's global set-up; the databases end with the test file. */
export async function deployment(shards = 2): Promise<Deployment> {
  const fresh = await freshDatabases(shards);
  return { ...fresh, options: (database) => optionsOver(fresh, database) };
}

/** The options of {@link Deployment.options}. */
export function optionsOver(
  { control, shards }: FreshDatabases,
  database: ShardingOptions['database'] = {},
): ShardingOptions & { database: object } {
  return {
    database: {
      primaryUrl: control,
      poolSize: 4,
      shards: shards.map((primaryUrl, index) => ({ name: `shard${index}`, primaryUrl })),
      ...database,
    },
    tenancy: { source: 'header' },
    entities: [Note],
  };
}

/** Boots an application with `ShardingModule`; the caller closes it. */
export async function bootApp(
  sharding: ShardingOptions & ShardingSetup,
  parts: ModuleMetadata = {},
  nest: NestApplicationOptions = { logger: false },
): Promise<INestApplication> {
  const app = await NestFactory.create(testModule(sharding, parts), { abortOnError: false, ...nest });
  return app.init();
}

function testModule(sharding: ShardingOptions & ShardingSetup, parts: ModuleMetadata): Type {
  @Module({ ...parts, imports: [ShardingModule.forRoot(sharding), ...(parts.imports ?? [])] })
  class TestModule {}
  return TestModule;
}

/** The base URL of an application that listens on a free loopback port. */
export async function listen(app: INestApplication): Promise<string> {
  await app.listen(0, '127.0.0.1');
  return (await app.getUrl()).replace('[::1]', '127.0.0.1');
}
