import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ControlTables } from './control-tables.js';

let tables: ControlTables;

beforeAll(async () => {
  tables = await ControlTables.create();
});

beforeEach(async () => {
  await tables.allowed('truncate _sharding_directory');
  await tables.query('truncate _sharding_directory_changes, _sharding_placement_log');
  await tables.query(`insert into _sharding_directory values ('a', 'shard0'), ('b', 'shard1')`);
});

const bulk = (from: number, to: number) =>
  `insert into _sharding_directory (routing_key, shard_name)
    select 'key-' || n, 'shard1' from generate_series(${from}, ${to}) n`;

/** What one statement records, and what is sent when it commits. */
async function record(sql: string): Promise<{ changes: (string | null)[]; sent: number; last: boolean }> {
  const before = await tables.revision();
  const payloads = await tables.notifications(() => tables.query(sql));
  const last = payloads.at(-1) === String(await tables.revision());
  return { changes: await tables.changes(before), sent: payloads.length, last };
}

describe('the changes record', () => {
  it.each<[string, string, string[]]>([
    ['a new key', `insert into _sharding_directory values ('c', 'shard1')`, ['c']],
    ['several', `insert into _sharding_directory values ('d', 'shard1'), ('c', 'shard1')`, ['c', 'd']],
    ['another shard', `update _sharding_directory set shard_name = 'shard2' where routing_key = 'a'`, ['a']],
    ['another group', `update _sharding_directory set group_id = 7 where routing_key = 'a'`, ['a']],
    ['another note', `update _sharding_directory set note = 'why' where routing_key = 'a'`, ['a']],
    ['a key that goes', `delete from _sharding_directory where routing_key = 'a'`, ['a']],
    [
      'both keys of a renamed row',
      `update _sharding_directory set routing_key = 'z' where routing_key = 'a'`,
      ['a', 'z'],
    ],
    [
      'an upsert of a known key',
      `insert into _sharding_directory values ('a', 'shard2') on conflict (routing_key)
        do update set shard_name = excluded.shard_name`,
      ['a'],
    ],
    [
      'a merge',
      `merge into _sharding_directory d using (values ('a', 'shard9'), ('c', 'shard9')) v (k, s) on d.routing_key = v.k
        when matched then update set shard_name = v.s when not matched then insert (routing_key, shard_name) values (k, s)`,
      ['a', 'c'],
    ],
    [
      'a copy',
      `copy _sharding_directory (routing_key, shard_name) from program 'echo c,shard1' with (format csv)`,
      ['c'],
    ],
  ])('%s', async (_what, sql, changes) => {
    expect(await record(sql)).toMatchObject({ changes, last: true });
  });

  it('both sides of an upsert', async () => {
    const sql = `insert into _sharding_directory values ('a', 'shard2'), ('c', 'shard2') on conflict (routing_key)
      do update set shard_name = excluded.shard_name`;
    expect(await record(sql)).toMatchObject({ changes: ['a', 'c'], last: true });
  });

  it('the keys of two rows that change their names with each other', async () => {
    const swap = `update _sharding_directory set routing_key = case routing_key when 'a' then 'b' else 'a' end`;
    const key = (how: string) =>
      tables.query(`alter table _sharding_directory drop constraint _sharding_directory_pkey,
        add constraint _sharding_directory_pkey primary key (routing_key) ${how}`);
    await key('deferrable initially deferred');
    expect(await record(swap)).toEqual({ changes: ['a', 'b'], sent: 1, last: true });
    await key('');
  });

  it.each<[string, string]>([
    ['a row that is not there', `delete from _sharding_directory where routing_key = 'nobody'`],
    ['the same values again', `update _sharding_directory set shard_name = shard_name, note = note`],
    ['a conflict', `insert into _sharding_directory values ('a', 'shard9') on conflict do nothing`],
    [
      'an upsert of what is there',
      `insert into _sharding_directory values ('a', 'shard0') on conflict (routing_key)
        do update set shard_name = excluded.shard_name`,
    ],
  ])('nothing for %s, and nothing is sent', async (_what, sql) => {
    const log = await tables.log();
    expect(await record(sql)).toEqual({ changes: [], sent: 0, last: false });
    expect(await tables.log()).toEqual(log);
  });

  it('each of 100 keys, and "any" for 101 or 100,001', async () => {
    expect((await record(bulk(1, 100))).changes).toHaveLength(100);
    expect(await record(bulk(101, 201))).toEqual({ changes: [null], sent: 1, last: true });
    expect(await record(bulk(1000, 101_000))).toEqual({ changes: [null], sent: 1, last: true });
    const repin = `update _sharding_directory set shard_name = 'shard2' where routing_key like 'key-%'`;
    expect(await record(repin)).toEqual({ changes: [null], sent: 1, last: true });
    expect(await record('delete from _sharding_directory')).toEqual({ changes: [null], sent: 1, last: true });
    const [log] = await tables.query('select count(*)::int as rows from _sharding_placement_log');
    expect(log).toEqual({ rows: 3 * (100 + 101 + 100_001) + 2 * 2 });
  });

  it('"any" for a truncated table, nothing for an empty one', async () => {
    expect(await record('truncate _sharding_directory')).toEqual({ changes: [null], sent: 1, last: true });
    expect(await record('truncate _sharding_directory')).toEqual({ changes: [], sent: 0, last: false });
  });

  it('no more than the last 1,000 revisions', async () => {
    await tables.query(`do $$ begin
      for n in 1 .. 1005 loop
        update _sharding_directory set shard_name = 'shard' || n where routing_key = 'a';
      end loop;
    end $$`);
    const revision = await tables.revision();
    const sql =
      'select count(*)::int as count, min(revision)::int as oldest from _sharding_directory_changes';
    expect(await tables.query(sql)).toEqual([{ count: 1000, oldest: revision - 999 }]);
  });
});

it('a transaction that is rolled back leaves no trace', async () => {
  const [before, log, changes] = [await tables.revision(), await tables.log(), await tables.changes()];
  const payloads = await tables.notifications(() =>
    tables.session(async (client) => {
      await client.query('begin');
      await client.query(`update _sharding_directory set shard_name = 'shard9'`);
      await client.query('truncate _sharding_directory');
      await client.query('rollback');
    }),
  );
  expect(payloads).toEqual([]);
  expect([await tables.revision(), await tables.log(), await tables.changes()]).toEqual([
    before,
    log,
    changes,
  ]);
});

it('a missing revision refuses the write and says what to do', async () => {
  await tables.query('delete from _sharding_revision');
  await expect(tables.query(bulk(1, 1))).rejects.toMatchObject({
    message: 'the row of _sharding_revision is missing',
    hint: 'insert it with a revision above every one that was used before',
  });
  await expect(tables.query('truncate _sharding_directory')).rejects.toMatchObject({
    message: 'the row of _sharding_revision is missing',
  });
  await tables.query('insert into _sharding_revision values (1000000)');
});
