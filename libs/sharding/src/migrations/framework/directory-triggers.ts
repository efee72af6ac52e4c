/**
 * The triggers of `_sharding_directory`. Every statement first takes the row of `_sharding_revision`: writers wait there
 * for each other, before they touch rows, and revisions are committed in order. Two transactions that insert, update and
 * delete cannot deadlock by that. One that locked rows before (`select ... for update`) can, and so can one that truncates
 * after another change: it holds the revision, and wants the table from everybody who waits for the revision.
 *
 * @param schema the schema of the tables, quoted. The functions run with the rights of their owner: nobody but a trigger
 * may call them, and no schema is searched in which others may create functions
 */
export function directoryTriggers(schema: string): string[] {
  const on: Names = {
    rights: 'language plpgsql security definer set search_path = pg_catalog, pg_temp',
    own: `${schema}._sharding`,
  };
  const functions = [announce(on), keep(on), begin(on), touch(on), ...afterStatements(on), truncated(on)];
  return [...functions, ...OWNERS_ONLY, ...TRIGGERS];
}

interface Names {
  readonly rights: string;
  /** What the names of our tables and functions begin with, the schema included. */
  readonly own: string;
}

const MOST_KEYS = 100;
const KEPT_REVISIONS = 1000;

/** Records the keys, `{null}` for "any", and hints at the new revision; of no keys it says nothing. */
function announce({ rights, own }: Names): string {
  return `
    create function _sharding_directory_announce(now_at bigint, keys text[]) returns void ${rights} as $$
    begin
      if coalesce(cardinality(keys), 0) = 0 then
        return;
      end if;
      if cardinality(keys) > ${MOST_KEYS} then
        keys := array[null::text];
      end if;
      insert into ${own}_directory_changes (revision, routing_key) select now_at, unnest(keys);
      delete from ${own}_directory_changes where revision <= now_at - ${KEPT_REVISIONS};
      perform pg_notify('_sharding_directory', now_at::text);
    end $$`;
}

/** Refuses that a key leaves its group, unless the transaction says that it means it. */
function keep({ rights }: Names): string {
  return `
    create function _sharding_directory_keep(placed_key text, placed_group smallint) returns void ${rights} as $$
    begin
      if current_setting('sharding.allow_group_change', true) = 'on' then
        return;
      end if;
      raise exception using errcode = 'restrict_violation',
        message = format('routing key %s is in group %s, and data does not change its group by a row',
          to_json(placed_key), placed_group),
        hint = format('to unpin: update _sharding_directory set shard_name = null where routing_key = %L', placed_key);
    end $$`;
}

function begin({ rights, own }: Names): string {
  return `
    create function _sharding_directory_begin() returns trigger ${rights} as $$
    begin
      update ${own}_revision set revision = revision + 1;
      if not found then
        raise exception 'the row of _sharding_revision is missing'
          using hint = 'insert it with a revision above every one that was used before';
      end if;
      return null;
    end $$`;
}

function touch({ rights }: Names): string {
  return `
    create function _sharding_directory_touch() returns trigger ${rights} as $$
    begin
      new.updated_at := case
        when (new.routing_key, new.shard_name, new.group_id, new.note)
          is distinct from (old.routing_key, old.shard_name, old.group_id, old.note) then now()
        else old.updated_at
      end;
      return new;
    end $$`;
}

/** Who and why, in a row of the log: what the session or transaction says, else the login and the note. */
const WHO = `session_user, coalesce(nullif(left(current_setting('sharding.actor', true), 255), ''), session_user)`;
const why = (note: string) =>
  `coalesce(nullif(left(current_setting('sharding.reason', true), 1000), ''), ${note})`;
const log = (own: string) => `insert into ${own}_placement_log
        (login, who, why, routing_key, from_shard, to_shard, from_group, to_group)`;

function afterStatements(on: Names): string[] {
  const changed = (rows: string) => `select routing_key from ${rows} limit ${MOST_KEYS + 1}`;
  const updated = `(
        (select routing_key, shard_name, group_id, note from old_rows
         except select routing_key, shard_name, group_id, note from new_rows)
        union all
        (select routing_key, shard_name, group_id, note from new_rows
         except select routing_key, shard_name, group_id, note from old_rows)) changed`;
  const logUpdated = `
      select ${WHO}, ${why('n.note')}, routing_key, o.shard_name, n.shard_name, o.group_id, n.group_id
      from old_rows o full join new_rows n using (routing_key)
      where (o.shard_name, o.group_id) is distinct from (n.shard_name, n.group_id)`;
  const logInserted = `
      select ${WHO}, ${why('note')}, routing_key, null, shard_name, null, group_id from new_rows`;
  const logDeleted = `
      select ${WHO}, ${why('null')}, routing_key, shard_name, null, group_id, null from old_rows`;
  const stays = `not exists (
        select from new_rows n where n.routing_key = o.routing_key and n.group_id = o.group_id)`;
  return [
    afterStatement('inserted', on, { keys: changed('new_rows'), logged: logInserted }),
    afterStatement('updated', on, {
      keys: `select distinct routing_key from ${updated} limit ${MOST_KEYS + 1}`,
      lost: `old_rows o where o.group_id is not null and ${stays}`,
      logged: logUpdated,
    }),
    afterStatement('deleted', on, {
      keys: changed('old_rows'),
      lost: 'old_rows o where o.group_id is not null',
      logged: logDeleted,
    }),
  ];
}

interface Statement {
  /** Query of the changed keys. */
  readonly keys: string;
  /** The rows of keys that leave their group. */
  readonly lost?: string;
  /** Query of the rows of the log. */
  readonly logged: string;
}

function afterStatement(event: string, { rights, own }: Names, { keys, lost, logged }: Statement): string {
  return `
    create function _sharding_directory_${event}() returns trigger ${rights} as $$
    begin
      ${lost ? keepFirst(own, lost) : ''}
      perform ${own}_directory_announce((select revision from ${own}_revision), array(${keys}));
      ${log(own)} ${logged};
      return null;
    end $$`;
}

/** One is enough to refuse, and the same one each time. */
const keepFirst = (own: string, lost: string) => `
      perform ${own}_directory_keep(first.routing_key, first.group_id)
      from (select o.routing_key, o.group_id from ${lost} order by o.routing_key limit 1) first;`;

/** Runs before, when the rows can still be read, and after `_begin`, by its name. */
function truncated({ rights, own }: Names): string {
  return `
    create function _sharding_directory_truncated() returns trigger ${rights} as $$
    begin
      ${keepFirst(own, `${own}_directory o where o.group_id is not null`)}
      if exists (select from ${own}_directory) then
        perform ${own}_directory_announce((select revision from ${own}_revision), array[null::text]);
      end if;
      ${log(own)}
      select ${WHO}, ${why('null')}, routing_key, shard_name, null, group_id, null from ${own}_directory;
      return null;
    end $$`;
}

const OWNERS_ONLY = [
  '_announce(bigint, text[])',
  '_keep(text, smallint)',
  '_begin()',
  '_touch()',
  '_inserted()',
  '_updated()',
  '_deleted()',
  '_truncated()',
].map((signature) => `revoke execute on function _sharding_directory${signature} from public`);

const TRIGGERS = [
  `create trigger _sharding_directory_begin before insert or update or delete or truncate on _sharding_directory
    for each statement execute function _sharding_directory_begin()`,
  `create trigger _sharding_directory_touch before update on _sharding_directory
    for each row execute function _sharding_directory_touch()`,
  `create trigger _sharding_directory_inserted after insert on _sharding_directory
    referencing new table as new_rows
    for each statement execute function _sharding_directory_inserted()`,
  `create trigger _sharding_directory_updated after update on _sharding_directory
    referencing old table as old_rows new table as new_rows
    for each statement execute function _sharding_directory_updated()`,
  `create trigger _sharding_directory_deleted after delete on _sharding_directory
    referencing old table as old_rows
    for each statement execute function _sharding_directory_deleted()`,
  `create trigger _sharding_directory_truncated before truncate on _sharding_directory
    for each statement execute function _sharding_directory_truncated()`,
];
