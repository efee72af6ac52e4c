import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Tells the processes that follow the directory what moves: a change of `_sharding_move_subjects` is a new revision,
 * without keys that changed. The revision is taken before rows are touched, as by the writers of the directory.
 */
export class MoveNews implements MigrationInterface {
  readonly name = 'MoveNews1797000000008';

  async up(runner: QueryRunner): Promise<void> {
    const [found] = (await runner.query('select quote_ident(current_schema()) as schema')) as {
      schema: string;
    }[];
    for (const statement of news(found?.schema ?? 'public')) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('drop trigger _sharding_move_subjects_begin on _sharding_move_subjects');
    await runner.query('drop trigger _sharding_move_subjects_changed on _sharding_move_subjects');
    await runner.query('drop function _sharding_move_subjects_changed()');
  }
}

const EVENTS = 'insert or update or delete or truncate on _sharding_move_subjects for each statement';

function news(schema: string): string[] {
  return [
    `create function _sharding_move_subjects_changed() returns trigger
      language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
      begin
        perform pg_notify('_sharding_directory', (select revision::text from ${schema}._sharding_revision));
        return null;
      end $$`,
    `revoke execute on function _sharding_move_subjects_changed() from public`,
    `create trigger _sharding_move_subjects_begin before ${EVENTS} execute function _sharding_directory_begin()`,
    `create trigger _sharding_move_subjects_changed after ${EVENTS} execute function _sharding_move_subjects_changed()`,
  ];
}
