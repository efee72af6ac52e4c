/**
 * The triggers of `_sharding_directory`. Every statement first takes the row of `_sharding_revision`: writers wait there
 * for each other, before they touch rows, so that they cannot deadlock and revisions are committed in order.
 *
 * @param schema the schema of the tables, quoted; the functions run with the rights of their owner, so their
 * `search_path` is pinned and nobody but a trigger may call them
 */
export function directoryTriggers(schema: string): string[] {
  const rights = `language plpgsql security definer set search_path = pg_catalog, ${schema}, pg_temp`;
  const functions = [
    announce(rights),
    begin(rights),
    touch(rights),
    ...afterStatements(rights),
    truncated(rights),
  ];
  return [...functions, ...OWNERS_ONLY, ...TRIGGERS];
}

const MOST_KEYS = 100;
const KEPT_REVISIONS = 1000;

/** Records the keys, `{null}` for "any", and hints at the new revision; of no keys it says nothing. */
function announce(rights: string): string {
  return `
    create function _sharding_directory_announce(now_at bigint, keys text[]) returns void ${rights} as $$
    begin
      if coalesce(cardinality(keys), 0) = 0 then
        return;
      end if;
      if cardinality(keys) > ${MOST_KEYS} then
        keys := array[null::text];
      end if;
      insert into _sharding_directory_changes (revision, routing_key) select now_at, unnest(keys);
      delete from _sharding_directory_changes where revision <= now_at - ${KEPT_REVISIONS};
      perform pg_notify('_sharding_directory', now_at::text);
    end $$`;
}

function begin(rights: string): string {
  return `
    create function _sharding_directory_begin() returns trigger ${rights} as $$
    begin
      update _sharding_revision set revision = revision + 1;
      if not found then
        raise exception 'the row of _sharding_revision is missing'
          using hint = 'insert it with a revision above every one that was used before';
      end if;
      return null;
    end $$`;
}

function touch(rights: string): string {
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

/** Who and why, in a row of the log: as set in the session or transaction, else the login and the note. */
const WHO = `coalesce(nullif(current_setting('sharding.actor', true), ''), session_user)`;
const why = (note: string) => `coalesce(nullif(current_setting('sharding.reason', true), ''), ${note})`;
const LOG = `insert into _sharding_placement_log
        (who, why, routing_key, from_shard, to_shard, from_group, to_group)`;

function afterStatements(rights: string): string[] {
  const changed = (rows: string) => `select routing_key from ${rows} limit ${MOST_KEYS + 1}`;
  const updated = `(
        (select routing_key, shard_name, group_id, note from old_rows
         except select routing_key, shard_name, group_id, note from new_rows)
        union all
        (select routing_key, shard_name, group_id, note from new_rows
         except select routing_key, shard_name, group_id, note from old_rows)) changed`;
  const logUpdated = `
      ${LOG}
      select ${WHO}, ${why('n.note')}, routing_key, o.shard_name, n.shard_name, o.group_id, n.group_id
      from old_rows o full join new_rows n using (routing_key)
      where (o.shard_name, o.group_id) is distinct from (n.shard_name, n.group_id);`;
  const logInserted = `
      ${LOG}
      select ${WHO}, ${why('note')}, routing_key, null, shard_name, null, group_id from new_rows;`;
  const logDeleted = `
      ${LOG}
      select ${WHO}, ${why('null')}, routing_key, shard_name, null, group_id, null from old_rows;`;
  return [
    afterStatement('inserted', rights, { keys: changed('new_rows'), log: logInserted }),
    afterStatement('updated', rights, {
      keys: `select distinct routing_key from ${updated} limit ${MOST_KEYS + 1}`,
      log: logUpdated,
    }),
    afterStatement('deleted', rights, { keys: changed('old_rows'), log: logDeleted }),
  ];
}

function afterStatement(event: string, rights: string, { keys, log }: { keys: string; log: string }): string {
  return `
    create function _sharding_directory_${event}() returns trigger ${rights} as $$
    begin
      perform _sharding_directory_announce((select revision from _sharding_revision), array(${keys}));
      ${log}
      return null;
    end $$`;
}

/** Runs before, when the rows can still be read, and after `_begin`, by its name. */
function truncated(rights: string): string {
  return `
    create function _sharding_directory_truncated() returns trigger ${rights} as $$
    begin
      if exists (select from _sharding_directory) then
        perform _sharding_directory_announce((select revision from _sharding_revision), array[null::text]);
      end if;
      ${LOG}
      select ${WHO}, ${why('null')}, routing_key, shard_name, null, group_id, null from _sharding_directory;
      return null;
    end $$`;
}

const OWNERS_ONLY = [
  '_announce(bigint, text[])',
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
