import { beforeEach, expect, it } from '@jest/globals';
import { ControlTables } from './control-tables.js';

let tables: ControlTables;

beforeEach(async () => {
  tables = await ControlTables.create();
});

it('says who moved which key from where to where, and why', async () => {
  await tables.query(
    `insert into _sharding_directory values ('a', 'shard0', null, 'whale'), ('b', null, 7, 'eu')`,
  );
  await tables.query(`update _sharding_directory set shard_name = 'shard1' where routing_key = 'a'`);
  await tables.query(
    `update _sharding_directory set group_id = 8, note = 'left the eu' where routing_key = 'b'`,
  );
  await tables.query(`update _sharding_directory set note = 'only a note'`);
  await tables.query(`update _sharding_directory set routing_key = 'c' where routing_key = 'a'`);
  await tables.query(`delete from _sharding_directory where routing_key = 'b'`);
  expect(await tables.log()).toEqual([
    'postgres a -/-->shard0/- whale',
    'postgres b -/-->-/7 eu',
    'postgres a shard0/-->shard1/- whale',
    'postgres b -/7->-/8 left the eu',
    'postgres a shard1/-->-/- -',
    'postgres c -/-->shard1/- only a note',
    'postgres b -/8->-/- -',
  ]);
});

it('takes actor and reason from the transaction', async () => {
  await tables.session(async (client) => {
    await client.query('begin');
    await client.query(
      `select set_config('sharding.actor', 'jo', true), set_config('sharding.reason', 'too big', true)`,
    );
    await client.query(`insert into _sharding_directory values ('a', 'shard0')`);
    await client.query('delete from _sharding_directory');
    await client.query('commit');
    await client.query(`insert into _sharding_directory values ('a', 'shard0')`);
    await client.query('truncate _sharding_directory');
  });
  expect(await tables.log()).toEqual([
    'jo a -/-->shard0/- too big',
    'jo a shard0/-->-/- too big',
    'postgres a -/-->shard0/- -',
    'postgres a shard0/-->-/- -',
  ]);
});
