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

describe('a role that may create functions beside the tables', () => {
  it.each([
    ['cardinality(text[])', 'int', 'cardinality($1::anyarray)'],
    ['unnest(text[])', 'setof text', 'pg_catalog.unnest($1)'],
    ['pg_notify(text, text)', 'void', 'pg_catalog.pg_notify($1, $2)'],
    ['current_setting(text, boolean)', 'text', 'pg_catalog.current_setting($1, $2)'],
    ['now()', 'timestamptz', 'pg_catalog.now()'],
  ])('cannot have the triggers call its own %s', async (signature, result, call) => {
    await tables.query('create table proof (of name)');
    await tables.query('grant insert on proof to public');
    await tables.query(`grant create on schema public to ${role}`);
    await tables.query(`grant select, insert, update, delete, truncate on _sharding_directory to ${role}`);
    await run(`create function public.${signature} returns ${result} language sql as $$
      insert into public.proof values (current_user);
      select ${call.replace('cardinality', 'pg_catalog.cardinality')} $$`);
    await run(PIN);
    await run(`update _sharding_directory set shard_name = 'shard2'`);
    await run('delete from _sharding_directory');
    await run(PIN);
    await run('truncate _sharding_directory');
    expect(await tables.query('select of from proof')).toEqual([]);
    expect(await tables.log()).toHaveLength(5);
  });
});

it('a role that may only read cannot pin', async () => {
  await tables.query(`grant select on _sharding_directory to ${role}`);
  expect((await run('select * from _sharding_directory')).rows).toEqual([]);
  await expect(run(PIN)).rejects.toMatchObject({ code: '42501' });
});

/** Until a session of the database waits for a lock. */
async function somebodyWaits(): Promise<void> {
  const sql = `select from pg_stat_activity where datname = $1 and wait_event_type = 'Lock'`;
  const waits = async () => (await TestCluster.attach().query(sql, [databaseOf(tables.url)])).length > 0;
  await waitFor(waits, { what: 'the second writer to wait' });
}

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
      await somebodyWaits();
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

it('a truncate after a delete can deadlock with a pin: one of both is rolled back and may be tried again', async () => {
  await tables.query(PIN);
  await tables.session((first) =>
    tables.session(async (second) => {
      await first.query('begin');
      await first.query('delete from _sharding_directory');
      const pinning = second.query(`insert into _sharding_directory values ('b', 'shard1')`);
      const pinned = pinning.then(
        () => 'committed',
        (error: { code?: string }) => error.code,
      );
      await somebodyWaits();
      const truncating = first.query('truncate _sharding_directory');
      const truncated = await truncating.then(
        () => 'committed',
        (error: { code?: string }) => error.code,
      );
      await first.query('commit');
      expect(new Set([truncated, await pinned])).toEqual(new Set(['40P01', 'committed']));
    }),
  );
});
