import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Column, DataSource, Entity, PrimaryColumn } from 'typeorm';
import { NoShardingStrategy } from '@app/routing';
import { PlacedRepository, ShardedEntity, shardedRepositoryToken, ShardingModule } from '@app/sharding';
import { compare, type SideResult } from '../support/bench.js';
import type { PostgresServer } from '../../support/postgres-server.js';

@ShardedEntity({ strategy: new NoShardingStrategy() })
@Entity('items')
class Item {
  @PrimaryColumn('int')
  id!: number;

  @Column({ type: 'text' })
  name!: string;
}

const ROWS = 1000;
const READS = 1000;

async function rate(work: (id: number) => Promise<unknown>): Promise<number> {
  const began = performance.now();
  for (let index = 0; index < READS; index++) await work(index % ROWS);
  return (READS * 1000) / (performance.now() - began);
}

/** TypeORM alone, and the library's repository where nothing is sharded, on the same database. */
export async function compareUnsharded(server: PostgresServer, rounds: number): Promise<SideResult[]> {
  await server.createDatabase('single');
  const url = server.url('single');
  const plain = new DataSource({ type: 'postgres', url, entities: [Item], poolSize: 4, logging: false });
  await plain.initialize();
  await plain.query('create table items (id int primary key, name text not null)');
  await plain.query(`insert into items select n, 'item ' || n from generate_series(0, ${ROWS - 1}) n`);
  @Module({
    imports: [
      ShardingModule.forRoot({
        database: { primaryUrl: url, poolSize: 4 },
        entities: [Item],
        metrics: false,
        traces: 'off',
        health: false,
      }),
      ShardingModule.forFeature([Item]),
    ],
  })
  class App {}
  const app = await NestFactory.createApplicationContext(App, { logger: ['error'], abortOnError: false });
  try {
    const ours = app.get<PlacedRepository<Item>>(shardedRepositoryToken(Item));
    const theirs = plain.getRepository(Item);
    return await compare(
      [
        { name: 'TypeORM', run: () => rate((id) => theirs.findOneBy({ id })) },
        { name: 'unsharded', run: () => rate((id) => ours.findOneBy({ id })) },
      ],
      { rounds, warmup: 2 },
    );
  } finally {
    await app.close();
    await plain.destroy();
  }
}
