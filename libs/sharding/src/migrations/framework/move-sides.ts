import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a shard knows of the moves that it takes part in: written in the transactions that change its rows. */
export class MoveSides implements MigrationInterface {
  readonly name = 'MoveSides1797000000006';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`create table _sharding_move_sides (
      move_id uuid primary key,
      role text not null constraint role_is_known check (role in ('source', 'destination')),
      epoch bigint not null,
      done jsonb,
      changed_at timestamptz not null default now())`);
    await runner.query(`comment on table _sharding_move_sides is
      'What a move has committed here: the copy at its destination, the purge at its source. Written by the mover.'`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop table _sharding_move_sides');
  }
}
