import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the control database remembers of the slot map: its versions, and the slots that were moved with their rows. */
export class SlotMapTables implements MigrationInterface {
  readonly name = 'SlotMapTables1796000000003';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of [...map(), ...slotMoves()]) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table _sharding_slot_moves, _sharding_map');
  }
}

function map(): string[] {
  return [
    `create table _sharding_map (
      version int not null,
      shard_name text not null,
      group_id smallint not null constraint group_id_is_0_to_255 check (group_id between 0 and 255),
      member smallint constraint member_is_0_to_63 check (member between 0 and 63),
      slots text not null,
      auto_split boolean not null,
      recorded_at timestamptz not null default now(),
      primary key (version, shard_name))`,
    `comment on table _sharding_map is
      'Every slot map the application has run with: the newest version is in force. Written at boot, by shardctl.'`,
  ];
}

function slotMoves(): string[] {
  return [
    `create table _sharding_slot_moves (
      id bigint generated always as identity primary key,
      source text not null,
      destination text not null,
      group_id smallint not null constraint group_id_is_0_to_255 check (group_id between 0 and 255),
      slots text not null,
      verified_at timestamptz not null default now())`,
    `comment on table _sharding_slot_moves is
      'Whole slots whose rows were copied and verified. Written by the mover; read at boot when the map changed.'`,
  ];
}
