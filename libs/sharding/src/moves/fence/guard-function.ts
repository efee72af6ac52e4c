import pg from 'pg';
import { quoted } from '../quoted.js';
import { slotExpression } from '../slot-expression.js';
import type { GuardedTable } from './guarded-table.js';

/** The trigger and its function have one name; the trigger's sorts before those of foreign keys, whose error would say less. */
export function guardFunction({
  oid,
  attnum,
  keyKind,
}: Pick<GuardedTable, 'oid' | 'attnum' | 'keyKind'>): string {
  return `_sharding_fence_${oid}_${attnum}_${keyKind}`;
}

export const GUARD_FUNCTION = '^_sharding_fence_[0-9]+_[0-9]+_(text|integer)$';
export const TRUNCATE_FUNCTION = '_sharding_fence_truncate';

export function triggerOf(functionName: string): string {
  return `0${functionName}`;
}

/**
 * What the trigger does: nothing, where neither the old nor the new key, nor any slot, stands in `_sharding_fence`. The first of
 * the rows `key:...` and `slot:...` decides.
 */
export function guardBody(
  schema: string,
  { key, keyKind, keyType }: Pick<GuardedTable, 'key' | 'keyKind' | 'keyType'>,
): string {
  const own = (name: string) => `${quoted(schema)}._sharding_${name}`;
  const [before, after] = [`old.${quoted(key)}`, `new.${quoted(key)}`];
  const subject = (value: string) => `('key:' || ${value}) collate "C"`;
  const slot = (value: string) => slotExpression(schema, value, { type: keyType, keyKind });
  return `
begin
  if current_setting('transaction_isolation') in ('repeatable read', 'serializable')
    and (select last_value from ${own('fence_raises')}) <> (select raised from ${own('fence_gate')})
  then
    perform from ${own('fence_gate')} for share; -- 40001, where a fence was raised after the snapshot
  end if;
  perform from ${own('fence')} f
    where f.subject in (${subject(`${before}::text`)}, ${subject(`${after}::text`)}) or f.subject >= 'slot:' limit 1;
  if not found then
    return null;
  end if;
  perform from
    unnest(array[${before}::text, ${after}::text], array[${slot(before)}, ${slot(after)}]) as row_of (key, slot)
    cross join lateral (
      select f.state, f.until, f.move_id, f.epoch from ${own('fence')} f
      where f.subject in (${subject('row_of.key')}, 'slot:' || row_of.slot)
      order by f.subject limit 1) f
    where (f.state in ('moved', 'incoming') or f.state = 'fenced' and f.until > clock_timestamp())
      and f.move_id || ':' || f.epoch is distinct from current_setting('nestjs_sharding.move', true);
  if found then
    raise exception using errcode = 'SHM01',
      message = format('a row of %I.%I was not written: its key is being moved to another shard, or lives on another one now',
        tg_table_schema, tg_table_name),
      hint = 'Look up again where the key lives, and try again there.';
  end if;
  return null;
end`;
}

/** @returns the statements that make the function, for the owner of the table alone */
export function createGuard(schema: string, table: GuardedTable): string[] {
  const name = `${quoted(schema)}.${quoted(guardFunction(table))}`;
  return [
    `create or replace function ${name}() returns trigger
      language plpgsql volatile security definer set search_path = pg_catalog, pg_temp
      as ${pg.escapeLiteral(guardBody(schema, table))}`,
    `revoke execute on function ${name}() from public`,
    `grant execute on function ${name}() to ${quoted(table.owner)}`, // who makes a partition makes its trigger
  ];
}
