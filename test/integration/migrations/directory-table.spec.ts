import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { slotOf } from '@app/routing';
import { ControlTables } from './control-tables.js';

let tables: ControlTables;

beforeAll(async () => {
  tables = await ControlTables.create();
});

beforeEach(() => tables.allowed('truncate _sharding_directory'));

const pin = (key: string, shard: string | null = 'shard1', group: number | null = null) =>
  tables.query('insert into _sharding_directory (routing_key, shard_name, group_id) values ($1, $2, $3)', [
    key,
    shard,
    group,
  ]);

describe('a row of the directory', () => {
  it.each([
    ['255 bytes', 'x'.repeat(255)],
    ['255 bytes of emoji', `${'🏢'.repeat(63)}abc`],
    ['quotes', `o'neill "and" \\sons\\; -- $1 %s`],
    ['nothing', ''],
  ])('has a key of %s, and its slot', async (_what, key) => {
    await pin(key);
    expect(await tables.query('select routing_key, slot from _sharding_directory')).toEqual([
      { routing_key: key, slot: slotOf(key) },
    ]);
  });

  it('is found under exactly its key', async () => {
    await pin('Acme', 'shard0');
    await pin('acme', 'shard1');
    await pin(' acme', 'shard2');
    const sql = `select shard_name from _sharding_directory where routing_key = 'acme'`;
    expect(await tables.query(sql)).toEqual([{ shard_name: 'shard1' }]);
  });

  it.each([
    ['256 bytes', 'x'.repeat(256)],
    ['256 bytes of emoji', '🏢'.repeat(64)],
    ['8 KB', 'x'.repeat(8192)],
  ])('has no key of %s', async (_what, key) => {
    await expect(pin(key)).rejects.toMatchObject({
      code: '23514',
      constraint: 'routing_key_is_at_most_255_bytes',
    });
  });

  it('names a shard, a group or both', async () => {
    await pin('a', 'shard1', null);
    await pin('b', null, 0);
    await pin('c', 'shard1', 255);
    await expect(pin('d', null, null)).rejects.toMatchObject({
      code: '23514',
      constraint: 'shard_name_or_group_id_is_given',
    });
    for (const group of [-1, 256]) {
      await expect(pin('e', null, group)).rejects.toMatchObject({
        code: '23514',
        constraint: 'group_id_is_0_to_255',
      });
    }
  });

  it.each([
    ['a URL', 'postgres://app:secret@db.internal/shard1'],
    ['other letters', 'Shard1'],
    ['a line break', 'shard1\n'],
    ['nothing', ''],
    ['256 letters', 'x'.repeat(256)],
  ])('names no shard by %s', async (_what, shard) => {
    await expect(pin('a', shard)).rejects.toMatchObject({
      code: '23514',
      constraint: 'shard_name_is_1_to_255_of_a_z_0_9_underscore_hyphen',
    });
  });

  it('has a name of up to 255 letters and a note of up to 1000', async () => {
    await pin('a', 'a-z_09'.padEnd(255, 'x'));
    await tables.query('update _sharding_directory set note = $1', ['🏢'.repeat(1000)]);
    const longer = tables.query('update _sharding_directory set note = $1', ['x'.repeat(1001)]);
    await expect(longer).rejects.toMatchObject({
      code: '23514',
      constraint: 'note_is_at_most_1000_characters',
    });
  });

  it('shows when it was last changed, whatever the writer says', async () => {
    const read = async () => {
      const rows = await tables.query('select updated_at from _sharding_directory');
      return rows.map((row) => (row['updated_at'] as Date).getTime());
    };
    await pin('a');
    const first = await read();
    await tables.query(`update _sharding_directory set shard_name = 'shard1'`);
    await tables.query(`update _sharding_directory set updated_at = '2000-01-01'`);
    expect(await read()).toEqual(first);
    await tables.query(`update _sharding_directory set shard_name = 'shard2', updated_at = '2000-01-01'`);
    expect((await read())[0]).toBeGreaterThan(first[0]!);
  });
});

it('has indexes for slots and shards', async () => {
  const sql = `select indexdef from pg_indexes where tablename = '_sharding_directory' order by 1`;
  expect((await tables.query(sql)).map((row) => String(row['indexdef']).replace(/^.* using /i, ''))).toEqual([
    'btree (shard_name)',
    'btree (slot)',
    'btree (routing_key)',
  ]);
});

it('says of every table who writes it', async () => {
  const sql = `select relname as table, obj_description(oid, 'pg_class') as comment from pg_class
    where relkind = 'r' and relname like E'\\\\_sharding%' order by 1`;
  const rows = await tables.query(sql);
  expect(rows.map((row) => row['table'])).toEqual([
    '_sharding_action_journal',
    '_sharding_action_ledger',
    '_sharding_action_parts',
    '_sharding_directory',
    '_sharding_directory_changes',
    '_sharding_fence',
    '_sharding_fence_gate',
    '_sharding_idempotency',
    '_sharding_identities',
    '_sharding_inbox',
    '_sharding_map',
    '_sharding_migrations',
    '_sharding_move_sides',
    '_sharding_move_subjects',
    '_sharding_moves',
    '_sharding_outbox',
    '_sharding_placement_log',
    '_sharding_processes',
    '_sharding_relay',
    '_sharding_revision',
    '_sharding_saga',
    '_sharding_slot_moves',
  ]);
  expect(rows.filter((row) => !/Written (by|at) /.test(String(row['comment'])))).toEqual([]);
});

it('counts revisions in exactly one row', async () => {
  const second = tables.query('insert into _sharding_revision values (1)');
  await expect(second).rejects.toMatchObject({ code: '23505' });
  const other = tables.query('insert into _sharding_revision values (1, false)');
  await expect(other).rejects.toMatchObject({ code: '23514', constraint: 'only_one_row' });
});
