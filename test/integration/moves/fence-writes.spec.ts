import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { from as copyFrom } from 'pg-copy-streams';
import { passFence, raiseFence, setTombstones } from '@app/sharding/operator';
import { FenceShard, NOTES, order, outcomeOf, table } from './fence-shard.js';

const REFUSED = 'SHM01';
const acme = order({ keys: ['acme'], tables: [table('notes'), table('comments')] });
let shard: FenceShard;

beforeAll(async () => {
  shard = await FenceShard.create(
    NOTES,
    'create unique index on notes (tenant_id, id)',
    `create table comments (tenant_id text not null, note_id bigint not null, text text,
      foreign key (tenant_id, note_id) references notes (tenant_id, id) on delete cascade on update cascade)`,
    `create table parents (id int primary key)`,
    `alter table notes add parent int references parents on delete cascade`,
    `insert into parents values (1), (2)`,
    `insert into notes (id, tenant_id, body, parent) values (1, 'acme', 'a', 1), (2, 'globex', 'g', 2)`,
    `insert into comments values ('acme', 1, 'c'), ('globex', 2, 'c')`,
  );
  await raiseFence(shard.mover, acme, 60_000);
});

afterAll(() => shard.close());

/** Each kind of write, for a key. */
const writes = (key: string, id: number, other: string): Record<string, string> => ({
  insert: `insert into notes (tenant_id) values ('${key}')`,
  'insert of many': `insert into notes (tenant_id) select case n when 900 then '${key}' else 'new' end from generate_series(1, 1000) n`,
  update: `update notes set body = 'x' where id = ${id}`,
  delete: `delete from comments where tenant_id = '${key}'`,
  'taking the key away': `update notes set tenant_id = 'new' where id = ${id}`,
  'giving the key': `with free as (insert into notes (tenant_id) values ('${other}') returning 1)
    update comments set tenant_id = '${key}', note_id = ${id} where tenant_id = 'other' or tenant_id = '${key}'`,
  'insert on conflict do update': `insert into notes (id, tenant_id) values (${id}, 'new') on conflict (id) do update set body = 'x'`,
  'insert on conflict do nothing': `insert into notes (id, tenant_id) values (77, '${key}') on conflict (id) do nothing`,
  'merge that updates': `merge into notes n using (values (${id})) s (id) on n.id = s.id when matched then update set body = 'm'`,
  'merge that inserts': `merge into notes n using (values (9)) s (id) on n.id = s.id
    when not matched then insert (id, tenant_id) values (9, '${key}')`,
  'a data-modifying query': `with w as (update notes set body = 'w' where id = ${id} returning *) select count(*) from w`,
  'a cascade': `delete from parents where id = ${id}`,
  'a cascade of two levels': `update notes set id = id + 100 where id = ${id}`,
});

describe.each(['read committed', 'repeatable read', 'serializable'])('in %s', (isolation) => {
  it('each kind of write of the key is refused', async () => {
    for (const [kind, sql] of Object.entries(writes('acme', 1, 'globex'))) {
      expect([kind, await shard.outcome(sql, isolation)]).toEqual([kind, REFUSED]);
    }
  });

  it('none of another tenant is', async () => {
    for (const [kind, sql] of Object.entries(writes('globex', 2, 'initech'))) {
      expect([kind, await shard.outcome(sql, isolation)]).toEqual([kind, 'ok']);
    }
  });
});

it('COPY is refused, and of another tenant is not', async () => {
  const client = await shard.connect();
  const copy = (key: string) =>
    pipeline(
      Readable.from([`${key}\tx\n`]),
      client.query(copyFrom('copy notes (tenant_id, body) from stdin')),
    );
  expect(await outcomeOf(copy('acme'))).toBe(REFUSED);
  expect(await outcomeOf(copy('globex'))).toBe('ok');
});

it('a statement inside of a function is refused, and the function may go on', async () => {
  const sql = `do $$ begin insert into notes (tenant_id) values ('acme'); raise exception 'passed';
    exception when sqlstate 'SHM01' then null; end $$`;
  expect(await shard.outcome(sql)).toBe('ok');
});

it('a session that says it is a replica is refused', async () => {
  const client = await shard.connect();
  await client.query('set session_replication_role = replica');
  expect(await outcomeOf(client.query(`insert into notes (tenant_id) values ('acme')`))).toBe(REFUSED);
});

it('what other triggers make of the key counts', async () => {
  await shard.query(`create function rename() returns trigger language plpgsql as
    $$ begin new.tenant_id := coalesce(new.body, new.tenant_id); return new; end $$`);
  await shard.query('create trigger zz_rename before insert on notes for each row execute function rename()');
  expect(await shard.outcome(`insert into notes (tenant_id, body) values ('globex', 'acme')`)).toBe(REFUSED);
  expect(await shard.outcome(`insert into notes (tenant_id, body) values ('acme', 'globex')`)).toBe('ok');
  await shard.query('drop trigger zz_rename on notes');
});

it('says no content of the row, and comes before what foreign keys would say', async () => {
  const client = await shard.connect();
  const error: unknown = await client
    .query(`insert into comments values ('acme', 999, 'private')`)
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    code: REFUSED,
    message:
      'a row of public.comments was not written: its key is being moved to another shard, or lives on another one now',
    hint: 'Look up again where the key lives, and try again there.',
  });
  expect(JSON.stringify(error)).not.toMatch(/private|acme/);
});

it('reads and locks of rows go on', async () => {
  expect(await shard.outcome(`select * from notes where tenant_id = 'acme' for update`)).toBe('ok');
});

it('TRUNCATE is refused while the key is fenced, by its tables and by those that they refer to', async () => {
  for (const isolation of ['read committed', 'serializable']) {
    expect(await shard.outcome('truncate comments', isolation)).toBe(REFUSED);
    expect(await shard.outcome('truncate parents cascade', isolation)).toBe(REFUSED);
  }
});

it('the mover passes, and no other move or epoch does', async () => {
  const write = `update notes set body = 'moved' where tenant_id = 'acme'`;
  const mover = await shard.session();
  await passFence(mover, acme);
  expect(await outcomeOf(mover.client.query(`update public.notes set body = 'moved' where id = 1`))).toBe(
    'ok',
  );
  for (const owner of [order({}), { ...acme, epoch: '2' }, { ...acme, epoch: '0' }]) {
    const other = await shard.connect();
    await passFence({ ...mover, client: other }, owner);
    expect(await outcomeOf(other.query(write))).toBe(REFUSED);
  }
});

it('a tombstone refuses as well, but not TRUNCATE', async () => {
  expect(await setTombstones(shard.mover, acme)).toBe('unbroken');
  for (const [kind, sql] of Object.entries(writes('acme', 1, 'globex'))) {
    expect([kind, await shard.outcome(sql)]).toEqual([kind, REFUSED]);
  }
  expect(await shard.outcome('truncate comments', 'read committed')).toBe('ok');
});
