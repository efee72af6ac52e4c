import type { MigrationInterface, QueryRunner } from 'typeorm';

export const IDENTITY_TABLES = 'IdentityTables1796000000004';

/** Which generated ids each shard may use; on control of all shards, on a shard its own row. */
export class IdentityTables implements MigrationInterface {
  readonly name = IDENTITY_TABLES;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table _sharding_identities (
      shard_name text primary key,
      ordinal int not null constraint ordinal_is_given_once unique,
      stride int not null,
      assigned_at timestamptz not null default now(),
      constraint ordinal_is_below_stride check (ordinal >= 0 and ordinal < stride))`);
    await runner.query(`comment on table _sharding_identities is
      'The generated ids of a shard are ordinal + 1 modulo stride. Rows stay when a shard goes. Written by the migrator.'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table _sharding_identities');
  }
}
