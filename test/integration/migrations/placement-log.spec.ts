import { beforeEach, expect, it } from '@jest/globals';
import { databaseOf } from '../../support/admin-query.js';
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
  await tables.allowed(
    `update _sharding_directory set group_id = 8, note = 'left the eu' where routing_key = 'b'`,
  );
  await tables.query(`update _sharding_directory set note = 'only a note'`);
  await tables.query(`update _sharding_directory set routing_key = 'c' where routing_key = 'a'`);
  await tables.allowed(`delete from _sharding_directory where routing_key = 'b'`);
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

it('has the login, whoever the session says it is', async () => {
  const role = `other_${databaseOf(tables.url)}`.slice(0, 63);
  await tables.query(`create role ${role}`);
  await tables.session(async (client) => {
    await client.query(`set sharding.actor = 'jo'`);
    await client.query(`insert into _sharding_directory values ('a', 'shard0')`);
    await client.query(`grant update, delete, select on _sharding_directory to ${role}`);
    await client.query(`set role ${role}`);
    await client.query(`update _sharding_directory set shard_name = 'shard1'`);
    await client.query('delete from _sharding_directory');
    await client.query('reset role');
    await client.query(`insert into _sharding_directory values ('a', 'shard0')`);
    await client.query('truncate _sharding_directory');
    await client.query(`drop owned by ${role}`);
    await client.query(`drop role ${role}`);
  });
  const login = { login: 'postgres', who: 'jo' };
  expect(await tables.query('select login, who from _sharding_placement_log')).toEqual(Array(5).fill(login));
});

it('keeps no more than 255 characters of the actor and 1000 of the reason', async () => {
  await tables.session(async (client) => {
    await client.query(`select set_config('sharding.actor', repeat('x', 100000), false)`);
    await client.query(`select set_config('sharding.reason', repeat('y', 100000), false)`);
    await client.query(`insert into _sharding_directory values ('a', 'shard0')`);
  });
  const sql = 'select length(who) as who, length(why) as why from _sharding_placement_log';
  expect(await tables.query(sql)).toEqual([{ who: 255, why: 1000 }]);
});
