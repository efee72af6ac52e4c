import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Answers of requests that carry an idempotency key. */
export class IdempotencyTables implements MigrationInterface {
  readonly name = 'IdempotencyTables1798000000012';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of idempotency()) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table _sharding_idempotency');
  }
}

function idempotency(): string[] {
  return [
    `create table _sharding_idempotency (
      scope text not null,
      key text not null,
      routing_key text,
      fingerprint text not null,
      status int,
      answer json,
      created_at timestamptz not null default now(),
      expires_at timestamptz not null,
      primary key (scope, key))`,
    `create index _sharding_idempotency_key on _sharding_idempotency (routing_key)`,
    `create index _sharding_idempotency_expires on _sharding_idempotency (expires_at)`,
    `comment on table _sharding_idempotency is
      'Answers of requests with an Idempotency-Key. Written by @Idempotent() handlers, in the transaction of the work.'`,
  ];
}
