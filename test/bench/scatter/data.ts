import 'reflect-metadata';
import { Column, DataSource, Entity, PrimaryGeneratedColumn } from 'typeorm';
import { ShardedEntity } from '@app/sharding';
import { PostgresServer } from '../../support/postgres-server.js';

@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('posts')
export class Post {
  @PrimaryGeneratedColumn('uuid')
  id!: string;

  @Column({ name: 'tenant_id', type: 'text' })
  tenantId!: string;

  @Column({ type: 'text' })
  title!: string;

  @Column({ name: 'made_at', type: 'timestamptz' })
  madeAt!: Date;
}

/** The rows of the stream. */
@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('lines')
export class Line {
  @PrimaryGeneratedColumn('uuid')
  id!: string;

  @Column({ name: 'tenant_id', type: 'text' })
  tenantId!: string;
}

export const SHARD_COUNTS = [1, 2, 4, 8, 16] as const;
export const MOST_SHARDS = 16;
export const ROWS_PER_SHARD = 100_000;
export const STREAMED_ROWS = 2_000_000;
const POOL_SIZE = 4;

const TABLES = `
  create table posts (id uuid primary key, tenant_id text not null, title text not null, made_at timestamptz not null);
  create table lines (id uuid primary key, tenant_id text not null)`;

/** Deterministic: the shards together hold exactly what the one database holds. */
const POSTS = `insert into posts
  select md5('post ' || n)::uuid, 'tenant-' || (n % 997), 'post ' || n,
    timestamptz '2026-01-01' + make_interval(secs => (n::bigint * 7919) % 20000003)
  from generate_series($1::int, $2::int) n`;
const LINES = `insert into lines select md5('line ' || n)::uuid, 'tenant-' || (n % 997) from generate_series($1::int, $2::int) n`;
const INDEXES = `create index on posts (made_at desc, id desc); create index on posts (tenant_id, made_at); analyze`;

/** One server; `shard0` to `shard15`, and `all1` to `all16` with the rows of the first so many shards. */
export async function fill(server: PostgresServer): Promise<void> {
  for (let shard = 0; shard < MOST_SHARDS; shard++) {
    await database(server, `shard${shard}`, [shard * ROWS_PER_SHARD, (shard + 1) * ROWS_PER_SHARD - 1]);
    const lines = STREAMED_ROWS / MOST_SHARDS;
    await server.query(LINES, [shard * lines, (shard + 1) * lines - 1], `shard${shard}`);
  }
  for (const count of SHARD_COUNTS) await database(server, `all${count}`, [0, count * ROWS_PER_SHARD - 1]);
}

async function database(server: PostgresServer, name: string, range: [number, number]): Promise<void> {
  await server.createDatabase(name);
  await server.query(TABLES, [], name);
  await server.query(POSTS, range, name);
  await server.query(INDEXES, [], name);
}

/** TypeORM alone on one database. */
export function bare(server: PostgresServer, name: string): Promise<DataSource> {
  return new DataSource({
    type: 'postgres',
    url: server.url(name),
    entities: [Post],
    poolSize: POOL_SIZE,
    connectTimeoutMS: 5000,
  }).initialize();
}

/** Options of the first so many shards. */
export function shardsOf(server: PostgresServer, count: number) {
  return {
    poolSize: POOL_SIZE,
    slowQueryThresholdMs: 0,
    statementTimeoutMs: 120_000,
    maxConnectionsWarnThreshold: 0,
    shards: Array.from({ length: count }, (_none, index) => ({
      name: `shard${index}`,
      primaryUrl: server.url(`shard${index}`),
    })),
  };
}
