import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a shard keeps of sagas: those whose key lives here, and the steps of any saga that were decided here. */
export class SagaTables implements MigrationInterface {
  readonly name = 'SagaTables1798000000011';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...sagas(), ...steps()]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table _sharding_saga_steps, _sharding_saga');
  }
}

function sagas(): string[] {
  return [
    `create table _sharding_saga (
      saga_id uuid primary key,
      name text not null,
      routing_key text,
      state text not null constraint state_is_known
        check (state in ('running', 'compensating', 'completed', 'compensated', 'stuck')),
      data jsonb not null,
      steps jsonb not null,
      version int not null default 1,
      due_at timestamptz,
      failure text,
      started_at timestamptz not null default now(),
      changed_at timestamptz not null default now())`,
    `create index _sharding_saga_key on _sharding_saga (routing_key)`,
    `create index _sharding_saga_due on _sharding_saga (due_at) where due_at is not null`,
    `create index _sharding_saga_stuck on _sharding_saga (changed_at) where state = 'stuck'`,
    `comment on table _sharding_saga is
      'Sagas by key: what is done and what comes next. Written by the saga handlers of this shard.'`,
  ];
}

function steps(): string[] {
  return [
    `create table _sharding_saga_steps (
      saga_id uuid not null,
      step text not null,
      routing_key text,
      outcome text not null constraint outcome_is_known check (outcome in ('done', 'failed', 'cancelled')),
      decided_at timestamptz not null default now(),
      primary key (saga_id, step))`,
    `create index _sharding_saga_steps_key on _sharding_saga_steps (routing_key)`,
    `create index _sharding_saga_steps_decided on _sharding_saga_steps (decided_at)`,
    `comment on table _sharding_saga_steps is
      'How each step of a saga ended here: the first that commits decides. Written with the rows of the step.'`,
  ];
}
