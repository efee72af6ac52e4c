import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a shard keeps of events: those to deliver, who delivers them, and what its handlers have seen. */
export class OutboxTables implements MigrationInterface {
  readonly name = 'OutboxTables1798000000009';

  async up(runner: QueryRunner): Promise<void> {
    const [found] = (await runner.query('select quote_ident(current_schema()) as schema')) as {
      schema: string;
    }[];
    const statements = [...outbox(), ...relay(), ...inbox(), ...moving(found?.schema ?? 'public')];
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop function _sharding_rows_move()');
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
      key_kind text not null default 'text' constraint key_kind_is_known check (key_kind in ('text', 'integer')),
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

/** What is deleted while it is being moved is missed when both sides are compared. A move that is forgotten stops nothing for ever. */
function moving(schema: string): string[] {
  return [
    `create function _sharding_rows_move() returns boolean
      language sql stable security definer set search_path = pg_catalog, pg_temp as $$
        select exists (select from ${schema}._sharding_move_sides where changed_at > now() - interval '7 days') $$`,
    `comment on function _sharding_rows_move() is
      'Whether a move has rows of this shard in hand: old rows of the framework are not deleted then.'`,
  ];
}
