import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the control database knows of moves. `moves/MOVE.md` is their contract. */
export class MoveTables implements MigrationInterface {
  readonly name = 'MoveTables1797000000005';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...moves(), ...subjects(), MOVE_OF_SLOTS]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('alter table _sharding_slot_moves drop column move_id');
    await runner.query('drop table _sharding_move_subjects, _sharding_moves');
  }
}

function moves(): string[] {
  return [
    `create table _sharding_moves (
      id uuid primary key,
      state text not null constraint state_is_known
        check (state in ('planned', 'copied', 'fenced', 'verified', 'switched', 'routed', 'purged', 'aborted')),
      epoch bigint not null default 0,
      leased_until timestamptz,
      source text not null,
      destination text not null,
      group_id smallint not null constraint group_id_is_0_to_255 check (group_id between 0 and 255),
      keys text[],
      slots int[],
      request jsonb not null,
      tables jsonb not null,
      proof jsonb,
      steps jsonb not null default '[]',
      started_by text not null,
      started_at timestamptz not null default now(),
      changed_at timestamptz not null default now(),
      constraint keys_or_slots check ((keys is null) <> (slots is null)))`,
    `comment on table _sharding_moves is
      'Every move of rows between shards, as far as it got. Written by the mover that holds the lease.'`,
    `create index _sharding_moves_by_time on _sharding_moves (started_at)`,
  ];
}

/** An aborted move is no reason for another owner of a slot. */
const MOVE_OF_SLOTS = 'alter table _sharding_slot_moves add column move_id uuid';

/** A row ends with its move; a routing key that is null stands for the whole slot. */
function subjects(): string[] {
  return [
    `create table _sharding_move_subjects (
      move_id uuid not null references _sharding_moves on delete cascade,
      group_id smallint not null,
      slot int not null constraint slot_is_0_to_16383 check (slot between 0 and 16383),
      routing_key text)`,
    `create index _sharding_move_subjects_by_slot on _sharding_move_subjects (group_id, slot)`,
    `create index _sharding_move_subjects_by_move on _sharding_move_subjects (move_id)`,
    `comment on table _sharding_move_subjects is
      'The keys and slots of the moves that have not ended: no two share one. Written by the mover.'`,
  ];
}
