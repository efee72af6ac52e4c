import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a shard keeps of events: those to deliver, who delivers them, and what its handlers have seen. */
export class OutboxTables implements MigrationInterface {
  readonly name = 'OutboxTables1798000000009';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...outbox(), ...relay(), ...inbox()]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table _sharding_inbox, _sharding_relay, _sharding_outbox');
  }
}

/** Rows come and go: vacuumed early, as the relay reads from the oldest on. */
function outbox(): string[] {
  return [
    `create table _sharding_outbox (
      position bigint generated always as identity primary key,
      event_id uuid not null unique,
      action_id uuid not null,
      type text not null,
      payload jsonb not null,
      routing_key text,
      aggregate_id text not null,
      occurred_at timestamptz not null,
      headers jsonb not null default '{}',
      handled text[] not null default '{}',
      attempts int not null default 0,
      retry_at timestamptz,
      failure text,
      delivered_at timestamptz,
      dead_at timestamptz)
    with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000)`,
    `create index _sharding_outbox_waiting on _sharding_outbox (position)
      where delivered_at is null and dead_at is null`,
    `create index _sharding_outbox_held on _sharding_outbox (aggregate_id, retry_at)
      where retry_at is not null and delivered_at is null and dead_at is null`,
    `create index _sharding_outbox_delivered on _sharding_outbox (delivered_at) where delivered_at is not null`,
    `create index _sharding_outbox_dead on _sharding_outbox (dead_at) where dead_at is not null`,
    `comment on table _sharding_outbox is
      'Events that wait for delivery. Written by actions, in the transaction of the rows they tell of; deleted by the relay.'`,
  ];
}

function relay(): string[] {
  return [
    `create table _sharding_relay (
      name text primary key,
      holder uuid,
      epoch bigint not null default 0,
      expires_at timestamptz not null default '-infinity')`,
    `comment on table _sharding_relay is
      'Which process delivers the events of this shard, until when. Written by the relays.'`,
  ];
}

function inbox(): string[] {
  return [
    `create table _sharding_inbox (
      handler text not null,
      event_id uuid not null,
      routing_key text,
      handled_at timestamptz not null default now(),
      primary key (handler, event_id))`,
    `create index _sharding_inbox_key on _sharding_inbox (routing_key)`,
    `create index _sharding_inbox_handled on _sharding_inbox (handled_at)`,
    `comment on table _sharding_inbox is
      'Events whose effects were committed here, once each. Written by handlers, in the transaction of the effect.'`,
  ];
}
