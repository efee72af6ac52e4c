import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TestCluster, waitFor } from '@test/support';
import { databaseOf } from '../../support/admin-query.js';
import { ControlTables } from './control-tables.js';

let tables: ControlTables;
let role: string;

beforeEach(async () => {
  tables = await ControlTables.create();
  role = `writer_${databaseOf(tables.url)}`.slice(0, 63);
  await tables.query(`create role ${role} login password 'of the writer'`);
});

afterEach(async () => {
  await tables.query(`drop owned by ${role}`);
  await tables.query(`drop role ${role}`);
});

/** The same database for the role. */
function asRole(): string {
  const url = new URL(tables.url);
  url.username = role;
  url.password = encodeURIComponent('of the writer');
  return url.href;
}

const run = (sql: string) => tables.session((client) => client.query(sql), asRole());
const PIN = `insert into _sharding_directory (routing_key, shard_name, note) values ('acme', 'shard1', 'big')`;

describe('a role with rights on the directory alone', () => {
  it('can pin, change and unpin; the triggers do the rest', async () => {
    await tables.query(`grant select, insert, update, delete, truncate on _sharding_directory to ${role}`);
    await run(PIN);
    await run(`update _sharding_directory set shard_name = 'shard2'`);
    await run('delete from _sharding_directory');
    await run(PIN);
    await run('truncate _sharding_directory');
    expect(await tables.log()).toEqual([
      `${role} acme -/-->shard1/- big`,
      `${role} acme shard1/-->shard2/- big`,
      `${role} acme shard2/-->-/- -`,
      `${role} acme -/-->shard1/- big`,
      `${role} acme shard1/-->-/- -`,
    ]);
    expect(await tables.changes()).toEqual(['acme', 'acme', 'acme', 'acme', null]);
  });

  it('cannot write what the triggers write', async () => {
    await tables.query(`grant select, insert, update, delete on _sharding_directory to ${role}`);
    const denied = expect.objectContaining({ code: '42501' });
    for (const sql of [
      'update _sharding_revision set revision = 0',
      'insert into _sharding_directory_changes values (1, null)',
      'delete from _sharding_placement_log',
      `select _sharding_directory_announce(1, array['x'])`,
    ]) {
      await expect(run(sql)).rejects.toEqual(denied);
    }
    await tables.query(`create schema own authorization ${role}`);
    await run('create table own.bait (id int)');
    const hijack =
      'create trigger t before insert on own.bait for each statement execute function _sharding_directory_begin()';
    await expect(run(hijack)).rejects.toEqual(denied);
  });

  it('cannot lead the triggers to tables of its own', async () => {
    await tables.query(`grant select, insert on _sharding_directory to ${role}`);
    await tables.query(`create schema own authorization ${role}`);
    await run('create table own._sharding_directory_changes (revision bigint, routing_key text)');
    await run('create table own._sharding_revision (revision bigint)');
    await tables.session(async (client) => {
      await client.query('create temp table _sharding_placement_log (who text)');
      await client.query('set search_path = own, public');
      await client.query(PIN);
    }, asRole());
    expect([await tables.changes(), (await tables.log()).length]).toEqual([['acme'], 1]);
    expect(await tables.query('select from own._sharding_directory_changes')).toEqual([]);
  });
});

it('a role that may only read cannot pin', async () => {
  await tables.query(`grant select on _sharding_directory to ${role}`);
  expect((await run('select * from _sharding_directory')).rows).toEqual([]);
  await expect(run(PIN)).rejects.toMatchObject({ code: '42501' });
});

it('two transactions that pin in opposite order wait for each other and both commit', async () => {
  const pin = (key: string, shard: string) =>
    `insert into _sharding_directory values ('${key}', '${shard}')
      on conflict (routing_key) do update set shard_name = excluded.shard_name`;
  await tables.session((first) =>
    tables.session(async (second) => {
      await first.query('begin');
      await second.query('begin');
      await first.query(pin('a', 'shard1'));
      const waiting = second.query(pin('b', 'shard2'));
      const blocked = async () =>
        (
          await TestCluster.attach().query(
            `select from pg_stat_activity where datname = $1 and wait_event_type = 'Lock'`,
            [databaseOf(tables.url)],
          )
        ).length > 0;
      await waitFor(blocked, { what: 'the second writer to wait' });
      await first.query(pin('b', 'shard1'));
      await first.query('commit');
      await waiting;
      await second.query(pin('a', 'shard2'));
      await second.query('commit');
    }),
  );
  const sql = 'select routing_key, shard_name from _sharding_directory order by 1';
  expect(await tables.query(sql)).toEqual([
    { routing_key: 'a', shard_name: 'shard2' },
    { routing_key: 'b', shard_name: 'shard2' },
  ]);
});
