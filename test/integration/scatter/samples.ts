import { Column, Entity, JoinColumn, ManyToOne, OneToMany, PrimaryColumn } from 'typeorm';
import pg from 'pg';
import { Shards } from '@app/sharding';
import { TestCluster } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import { bootApp } from '../../support/deployment.js';
import type { INestApplication } from '@nestjs/common';
import type { ShardingOptions } from '@app/sharding';

@Entity('authors')
export class Author {
  @PrimaryColumn({ type: 'bigint' })
  id!: string;

  @Column({ type: 'text', nullable: true })
  name!: string | null;
}

/** A column of every type that has an order across shards, and some that have none. */
@Entity('samples')
export class Sample {
  @PrimaryColumn({ type: 'bigint' })
  id!: string;

  @Column({ name: 'tenant_id', type: 'text' })
  tenantId!: string;

  @Column({ type: 'text', nullable: true })
  body!: string | null;

  @Column({ type: 'smallint', nullable: true })
  small!: number | null;

  @Column({ type: 'integer', nullable: true })
  whole!: number | null;

  @Column({ type: 'bigint', nullable: true })
  big!: string | null;

  @Column({ type: 'numeric', nullable: true })
  amount!: string | null;

  @Column({ type: 'real', nullable: true })
  single!: number | null;

  @Column({ type: 'double precision', nullable: true })
  ratio!: number | null;

  @Column({ type: 'boolean', nullable: true })
  flag!: boolean | null;

  @Column({ type: 'uuid', nullable: true })
  token!: string | null;

  @Column({ type: 'bytea', nullable: true })
  bytes!: Buffer | null;

  @Column({ name: 'seen_at', type: 'timestamp', nullable: true })
  seenAt!: Date | null;

  @Column({ name: 'made_at', type: 'timestamptz', nullable: true })
  madeAt!: Date | null;

  @Column({ type: 'date', nullable: true })
  day!: string | null;

  @Column({ type: 'time', nullable: true })
  clock!: string | null;

  @Column({ type: 'enum', enum: ['sad', 'ok', 'happy'], enumName: 'mood', nullable: true })
  mood!: string | null;

  @Column({ type: 'char', length: 6, nullable: true })
  code!: string | null;

  @Column({ type: 'jsonb', nullable: true })
  meta!: unknown;

  @Column({ type: 'interval', nullable: true })
  span!: unknown;

  @Column({ type: 'int', array: true, nullable: true })
  list!: number[] | null;

  @Column({ type: 'inet', nullable: true })
  address!: string | null;

  @ManyToOne(() => Author, { nullable: true, createForeignKeyConstraints: false })
  @JoinColumn({ name: 'author_id' })
  author!: Author | null;

  @OneToMany(() => Tag, (tag) => tag.sample)
  tags!: Tag[];
}

@Entity('tags')
export class Tag {
  @PrimaryColumn({ name: 'sample_id', type: 'bigint' })
  sampleId!: string;

  @PrimaryColumn({ type: 'text' })
  name!: string;

  @ManyToOne(() => Sample, (sample) => sample.tags)
  @JoinColumn({ name: 'sample_id' })
  sample!: Sample;
}

/** "happy" is first in the alphabet and last in the enum; texts have a collation that orders a, A, ä, b. */
export const TABLES = `
  create type mood as enum ('sad', 'ok', 'happy');
  create table authors (id bigint primary key, name text collate "en-x-icu");
  create table samples (
    id bigint primary key, tenant_id text not null, body text collate "en-x-icu", small smallint, whole integer, big bigint,
    amount numeric, single real, ratio double precision, flag boolean, token uuid, bytes bytea, seen_at timestamp,
    made_at timestamptz, day date, clock time, mood mood, code char(6) collate "en-x-icu", meta jsonb, span interval, list int[],
    address inet, author_id bigint);
  create table tags (sample_id bigint not null, name text not null, primary key (sample_id, name))`;

/** Several databases of one application. */
export interface Samples {
  readonly app: INestApplication;
  readonly shards: Shards;
  readonly urls: readonly string[];
  query(shard: number, sql: string, params?: readonly unknown[]): Promise<Record<string, unknown>[]>;
}

/** A fresh database with the tables. */
export async function sampleDatabase(label: string): Promise<string> {
  const cluster = TestCluster.attach();
  const template = await cluster.template('samples', async (url) => void (await runOnce(url, TABLES)));
  return cluster.createDatabase({ template, label });
}

/** An application over these databases; whoever boots it closes `app`. */
export async function bootSamples(
  urls: readonly string[],
  database: ShardingOptions['database'] = {},
): Promise<Samples> {
  const app = await bootApp({
    database: {
      shards: urls.map((primaryUrl, index) => ({ name: `shard${index}`, primaryUrl })),
      primaryPoolSize: 4,
      ...database,
    },
    tenancy: { source: 'header' },
    entities: [Author, Sample, Tag],
  });
  return {
    app,
    shards: app.get(Shards),
    urls,
    query: (shard, sql, params) => runOnce(urls[shard]!, sql, params),
  };
}

/** Inserts rows as the server reads their texts. */
export async function insertRows(
  url: string,
  table: string,
  rows: readonly Record<string, string | null>[],
): Promise<void> {
  const [first] = rows;
  if (!first) return;
  const names = Object.keys(first);
  const values = rows.map((row) => `(${names.map((name) => literal(row[name] ?? null)).join(', ')})`);
  await runOnce(url, `insert into ${table} (${names.join(', ')}) values ${values.join(', ')}`);
}

function literal(text: string | null): string {
  return text === null ? 'null' : pg.escapeLiteral(text);
}
