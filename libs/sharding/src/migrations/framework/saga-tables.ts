import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The sagas whose key, or place, is on this shard. How their steps ended is in the action ledger of the step's shard. */
export class SagaTables implements MigrationInterface {
  readonly name = 'SagaTables1798000000011';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of sagas()) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table _sharding_saga');
  }
}

function sagas(): string[] {
  return [
    `create table _sharding_saga (
      saga_id uuid primary key,
      name text not null,
      routing_key text,
      key_kind text not null default 'text' constraint key_kind_is_known check (key_kind in ('text', 'integer')),
      state text not null constraint state_is_known
        check (state in ('running', 'compensating', 'completed', 'compensated', 'stuck')),
      data jsonb not null,
      steps jsonb not null,
      version int not null default 1,
      failure text,
      started_at timestamptz not null default now(),
      changed_at timestamptz not null default now())`,
    `create index _sharding_saga_key on _sharding_saga (routing_key)`,
    `create index _sharding_saga_stuck on _sharding_saga (changed_at) where state = 'stuck'`,
    `create index _sharding_saga_ended on _sharding_saga (changed_at) where state in ('completed', 'compensated')`,
    `comment on table _sharding_saga is
      'Sagas by key: what is done and what comes next. Written by the saga handlers of this shard.'`,
  ];
}
