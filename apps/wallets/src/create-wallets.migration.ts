import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The first migration of every shard. */
export class CreateWallets1798000000100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table wallets (
      id uuid primary key,
      owner text not null,
      country text not null,
      balance bigint not null constraint balance_is_not_negative check (balance >= 0),
      version int not null)`);
    await runner.query(`create table movements (
      id uuid primary key,
      wallet_id uuid not null references wallets,
      kind text not null,
      amount bigint not null,
      transfer_id uuid,
      made_at timestamptz not null default now())`);
    await runner.query('create index movements_wallet_id on movements (wallet_id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table movements, wallets');
  }
}
