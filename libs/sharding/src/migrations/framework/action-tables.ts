import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a shard keeps of actions: the results of those with an idempotency key, and its parts of cross-shard ones. */
export class ActionTables implements MigrationInterface {
  readonly name = 'ActionTables1798000000010';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...ledger(), ...parts()]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table _sharding_action_parts, _sharding_action_ledger');
  }
}

function ledger(): string[] {
  return [
    `create table _sharding_action_ledger (
      action_id uuid not null,
      part int not null,
      action text not null,
      routing_key text,
      params_hash text not null,
      run_id uuid not null,
      run_parts int not null,
      result json not null,
      applied_at timestamptz not null default now(),
      primary key (action_id, part))`,
    `create index _sharding_action_ledger_key on _sharding_action_ledger (routing_key)`,
    `create index _sharding_action_ledger_applied on _sharding_action_ledger (applied_at)`,
    `comment on table _sharding_action_ledger is
      'Actions that were applied here, once each. Written by the executor, in the transaction of the rows.'`,
  ];
}

function parts(): string[] {
  return [
    `create table _sharding_action_parts (
      action_id uuid not null,
      part int not null,
      action text not null,
      state text not null default 'pending'
        constraint state_is_known check (state in ('pending', 'applied', 'cancelled', 'compensated')),
      content json not null,
      undo json,
      changed_at timestamptz not null default now(),
      primary key (action_id, part))`,
    `create index _sharding_action_parts_changed on _sharding_action_parts (changed_at)`,
    `comment on table _sharding_action_parts is
      'Changes that cross-shard actions have staged for this shard. Written by the executor, before any part is applied.'`,
  ];
}
