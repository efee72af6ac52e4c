import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What refuses writes of keys that move, or have moved; `moves/MOVE.md` says how, `moves/fence` makes the row triggers. */
export class FenceTables implements MigrationInterface {
  readonly name = 'FenceTables1797000000007';

  async up(runner: QueryRunner): Promise<void> {
    const [found] = (await runner.query('select quote_ident(current_schema()) as schema')) as {
      schema: string;
    }[];
    for (const statement of [
      ...fence(),
      ...gate(),
      truncateGuard(found?.schema ?? 'public', FENCED),
      NOBODY_ELSE,
    ]) {
      await runner.query(statement);
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(DROP_GUARDS);
    await runner.query('drop table _sharding_fence, _sharding_fence_gate');
    await runner.query('drop sequence _sharding_fence_raises');
  }
}

/** `key:...` sorts before `slot:...`: the first of the two rows of a key is the one that counts. */
function fence(): string[] {
  return [
    `create table _sharding_fence (
      subject text collate "C" primary key constraint subject_is_of_a_key_or_a_slot check (subject ~ '^(key|slot):'),
      slot int not null constraint slot_is_0_to_16383 check (slot between 0 and 16383),
      state text not null constraint state_is_known check (state in ('fenced', 'moved', 'kept')),
      move_id uuid not null,
      epoch bigint not null,
      until timestamptz,
      other_shard text,
      changed_at timestamptz not null default now(),
      constraint only_a_fence_ends check ((state = 'fenced') = (until is not null)))`,
    `create index _sharding_fence_by_slot on _sharding_fence (slot)`,
    `create index _sharding_fence_by_move on _sharding_fence (move_id)`,
    `comment on table _sharding_fence is
      'Keys and slots whose writes are refused: for a while (fenced), because they live elsewhere (moved), and the exceptions of a slot (kept). Written by the mover.'`,
  ];
}

/**
 * A transaction with an old snapshot does not see a new fence. The sequence is the same for every snapshot: it tells without
 * a lock whether there was a raise that the row, as this snapshot has it, does not know of. Then the row decides, by a lock.
 */
function gate(): string[] {
  return [
    `create sequence _sharding_fence_raises`,
    `create table _sharding_fence_gate (
      only_row boolean primary key default true constraint only_one_row check (only_row),
      raised bigint not null)`,
    `insert into _sharding_fence_gate (raised) values (nextval('_sharding_fence_raises'))`,
    `comment on table _sharding_fence_gate is
      'One row: how often a fence was raised. Written by the mover, locked by transactions with a snapshot older than that.'`,
    `comment on sequence _sharding_fence_raises is 'What _sharding_fence_gate says, or will. Written by the mover.'`,
  ];
}

/** Which rows of `_sharding_fence` refuse TRUNCATE. */
export const FENCED = `state = 'fenced' and until > clock_timestamp()`;

/** Of every guarded table, and each of its partitions. */
export function truncateGuard(schema: string, refusing: string): string {
  return `create or replace function _sharding_fence_truncate() returns trigger
      language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
      begin
        if current_setting('transaction_isolation') in ('repeatable read', 'serializable')
          and (select last_value from ${schema}._sharding_fence_raises)
            <> (select raised from ${schema}._sharding_fence_gate)
        then
          perform from ${schema}._sharding_fence_gate for share;
        end if;
        if exists (select from ${schema}._sharding_fence where ${refusing}) then
          raise exception using errcode = 'SHM01',
            message = format('rows of %I.%I are being moved to another shard', tg_table_schema, tg_table_name),
            hint = 'Try again in a while.';
        end if;
        return null;
      end $$`;
}

const NOBODY_ELSE = 'revoke execute on function _sharding_fence_truncate() from public';

/** The triggers go with their functions. */
const DROP_GUARDS = `
  do $$
  declare
    guard regprocedure;
  begin
    for guard in
      select oid from pg_proc
      where pronamespace = current_schema()::regnamespace and starts_with(proname, '_sharding_fence_')
    loop
      execute format('drop function %s cascade', guard);
    end loop;
  end $$`;
