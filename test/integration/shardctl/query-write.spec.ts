import { expect, it } from '@jest/globals';
import { FaultProxy, waitFor } from '@test/support';
import { Shardctl } from '../../support/shardctl.js';
import { deployed, tomlOf } from './deployed.js';

const shardctl = Shardctl.attach();

const run = (args: readonly string[], toml: string) => shardctl.run(['query', ...args], { toml });

it('commits with --write, on the shards that are meant', async () => {
  const fresh = await deployed();
  const sql = `insert into notes (tenant_id, body) values ('acme', 'new') returning tenant_id, body`;
  expect(await run([sql, '--write', '--shard', 'shard1'], fresh.toml)).toEqual({
    code: 0,
    err: '',
    out: 'shard1: INSERT, 1 row\ntenant_id  body\nacme       new\n',
  });
  expect(await run([`update notes set body = 'changed'`, '--write'], fresh.toml)).toEqual({
    code: 0,
    err: '',
    out: 'shard0: UPDATE, 0 rows\n\nshard1: UPDATE, 1 row\n',
  });
  expect(await fresh.query(1, 'select body from notes')).toEqual([{ body: 'changed' }]);
  expect(await run(['create table t (id int)', '--write', '--shard', 'shard0'], fresh.toml)).toEqual({
    code: 0,
    err: '',
    out: 'shard0: CREATE\n',
  });
});

it('tells what was committed when a write is interrupted', async () => {
  const fresh = await deployed();
  await fresh.query(1, 'create function slow() returns text language sql as $$ select pg_sleep(60)::text $$');
  await fresh.query(0, `create function slow() returns text language sql as $$ select 'quick' $$`);
  const sql = `insert into notes (tenant_id, body) values ('acme', slow())`;
  const end = await shardctl.run(['query', sql, '--write'], {
    toml: fresh.toml,
    interruptAfter: () =>
      waitFor(async () => (await fresh.query(0, 'select 1 from notes')).length === 1, {
        what: 'the first commit',
      }),
  });
  expect(end).toEqual({
    code: 130,
    out: 'shard0: INSERT, 1 row\n\nshard1: FAILED, nothing was changed: interrupted (interrupted)\n',
    err: '',
  });
  expect(await fresh.query(1, 'select 1 from notes')).toEqual([]);
});

it.each([
  ['is lost', 'reset'],
  ['does not come in time', 'silent'],
] as const)('says that a commit may have happened when its answer %s', async (_what, how) => {
  const fresh = await deployed(1);
  const proxy = await FaultProxy.start({ port: Number(new URL(fresh.shards[0] ?? '').port) });
  try {
    proxy.cutOn(/^commit/i, 'after', how);
    const toml = tomlOf({ shards: fresh.shards.map((url) => proxy.url(url)) });
    const sql = `insert into notes (tenant_id, body) values ('a', 'b')`;
    expect(await run([sql, '--write', '--timeout', '0.5'], toml)).toEqual({
      code: 1,
      out: 'shard0: FAILED, the commit was sent and not answered: look before you repeat the statement (commit_unknown)\n',
      err: '',
    });
    expect(await fresh.query(0, 'select body from notes')).toEqual([{ body: 'b' }]);
  } finally {
    await proxy.dispose();
  }
});

it('says that nothing was changed when a commit is interrupted in time', async () => {
  const fresh = await deployed(1);
  await fresh.query(
    0,
    `create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(60); return null; end $$`,
  );
  await fresh.query(
    0,
    'create constraint trigger slow after insert on notes deferrable initially deferred for each row execute function slow()',
  );
  const committing = `select 1 from pg_stat_activity where datname = current_database() and query = 'commit' and state = 'active'`;
  const sql = `insert into notes (tenant_id, body) values ('a', 'b')`;
  const end = await shardctl.run(['query', sql, '--write'], {
    toml: fresh.toml,
    interruptAfter: () =>
      waitFor(async () => (await fresh.query(0, committing)).length === 1, { what: 'the commit' }),
  });
  expect(end).toEqual({
    code: 130,
    out: 'shard0: FAILED, nothing was changed: interrupted (interrupted)\n',
    err: '',
  });
  expect(await fresh.query(0, 'select 1 from notes')).toEqual([]);
});

it('tells what a commit was refused for', async () => {
  const fresh = await deployed(1);
  await fresh.query(
    0,
    'alter table notes add constraint one_body unique (body) deferrable initially deferred',
  );
  const sql = `insert into notes (tenant_id, body) values ('a', 'same'), ('b', 'same')`;
  expect(await run([sql, '--write'], fresh.toml)).toEqual({
    code: 1,
    out: 'shard0: FAILED, duplicate key value violates unique constraint "one_body" (23505)\n',
    err: '',
  });
});
