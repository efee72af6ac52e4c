import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ControlTables } from './control-tables.js';
import type { Row } from '../../support/admin-query.js';

let tables: ControlTables;

beforeAll(async () => {
  tables = await ControlTables.create();
});

/** `a` is pinned and in group 7, `b` is in group 7 only, `c` is only pinned. */
beforeEach(async () => {
  await tables.allowed('truncate _sharding_directory');
  await tables.query(
    `insert into _sharding_directory values ('a', 'shard7', 7), ('b', null, 7), ('c', 'shard1', null)`,
  );
});

const rows = (): Promise<Row[]> =>
  tables.query(
    'select routing_key as key, shard_name as shard, group_id as group from _sharding_directory order by 1',
  );
const A = { key: 'a', shard: 'shard7', group: 7 };
const B = { key: 'b', shard: null, group: 7 };
const C = { key: 'c', shard: 'shard1', group: null };

const LOSSES: [string, string][] = [
  ['a delete', `delete from _sharding_directory where routing_key = 'a'`],
  ['a delete of everything', 'delete from _sharding_directory'],
  ['another group', `update _sharding_directory set group_id = 8 where routing_key = 'a'`],
  ['no group', `update _sharding_directory set group_id = null where routing_key = 'a'`],
  ['a rename', `update _sharding_directory set routing_key = 'z' where routing_key = 'a'`],
  [
    'an upsert',
    `insert into _sharding_directory values ('a', 'shard1', 0)
      on conflict (routing_key) do update set shard_name = excluded.shard_name, group_id = excluded.group_id`,
  ],
  [
    'a merge',
    `merge into _sharding_directory d using (values ('a')) v (k) on d.routing_key = v.k when matched then delete`,
  ],
  ['a truncate', 'truncate _sharding_directory'],
];

describe('a key in a group', () => {
  it.each(LOSSES)('is not taken out of it by %s', async (_what, sql) => {
    const before = [await tables.revision(), await tables.log()];
    await expect(tables.query(sql)).rejects.toMatchObject({
      code: '23001',
      message: 'routing key "a" is in group 7, and data does not change its group by a row',
      hint: `to unpin: update _sharding_directory set shard_name = null where routing_key = 'a'`,
    });
    expect(await rows()).toEqual([A, B, C]);
    expect([await tables.revision(), await tables.log()]).toEqual(before);
  });

  it.each(LOSSES)('may leave it by %s in a transaction that says so', async (_what, sql) => {
    await tables.allowed(sql);
    expect(await rows()).not.toContainEqual(A);
  });

  it('does not leave it in the next transaction of the same session', async () => {
    await tables.session(async (client) => {
      await client.query('begin');
      await client.query('set local sharding.allow_group_change = on');
      await client.query('commit');
      await expect(client.query('delete from _sharding_directory')).rejects.toMatchObject({ code: '23001' });
    });
  });

  it('is unpinned, pinned and noted as before', async () => {
    await tables.query(`update _sharding_directory set shard_name = null where routing_key = 'a'`);
    expect(await rows()).toEqual([{ ...A, shard: null }, B, C]);
    await tables.query(
      `update _sharding_directory set shard_name = 'shard9', note = 'big' where group_id = 7`,
    );
    expect(await rows()).toEqual([{ ...A, shard: 'shard9' }, { ...B, shard: 'shard9' }, C]);
  });

  it('is named in a hint that can be pasted', async () => {
    const key = `o'neill \\ "and" sons`;
    await tables.allowed('delete from _sharding_directory');
    await tables.query('insert into _sharding_directory values ($1, $2, 0)', [key, 'shard0']);
    const error: unknown = await tables
      .query('delete from _sharding_directory')
      .catch((cause: unknown) => cause);
    await tables.query(String((error as { hint?: string }).hint).replace('to unpin: ', ''));
    expect(await rows()).toEqual([{ key, shard: null, group: 0 }]);
  });
});

describe('a key without a group', () => {
  it('may be renamed, deleted and put into one', async () => {
    await tables.query(`update _sharding_directory set routing_key = 'd' where routing_key = 'c'`);
    await tables.query(`update _sharding_directory set group_id = 3 where routing_key = 'd'`);
    await tables.query(`insert into _sharding_directory values ('e', 'shard1')`);
    await tables.query(`delete from _sharding_directory where routing_key = 'e'`);
    expect(await rows()).toEqual([A, B, { key: 'd', shard: 'shard1', group: 3 }]);
  });
});
