import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which cross-shard actions are under way, and how far: ids and states only, as content must not leave its group. */
export class ActionJournal implements MigrationInterface {
  readonly name = 'ActionJournal1798000000013';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of journal()) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table _sharding_action_journal');
  }
}

function journal(): string[] {
  return [
    `create table _sharding_action_journal (
      action_id uuid primary key,
      action text not null,
      state text not null constraint state_is_known
        check (state in ('pending', 'partial', 'applied', 'cancelled', 'compensated')),
      parts jsonb not null,
      attempts int not null default 0,
      failure text,
      started_at timestamptz not null default now(),
      changed_at timestamptz not null default now())`,
    `create index _sharding_action_journal_open on _sharding_action_journal (changed_at)
      where state in ('pending', 'partial')`,
    `comment on table _sharding_action_journal is
      'Cross-shard actions: their shards and states, no content. Written by the executor and by shardctl.'`,
  ];
}
