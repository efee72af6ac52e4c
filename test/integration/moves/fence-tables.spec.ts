import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { installFence, raiseFence, removeIdleFences } from '@app/sharding/operator';
import { FenceShard, order, outcomeOf, table } from './fence-shard.js';
import type { MovedTable } from '@app/sharding/operator';

let shard: FenceShard;

beforeAll(async () => {
  shard = await FenceShard.create();
});

afterAll(() => shard.close());

const QUOTES = '"; drop table x--';

it.each<[string, MovedTable, string]>([
  ['mixed case', table('Orders', 'TenantId'), '"Orders" ("TenantId" text, "new" int)'],
  ['reserved', table('select', 'user'), '"select" ("user" varchar(20))'],
  ['of another schema', table('orders', 'tenant_id', 'Sales'), '"Sales".orders (tenant_id text)'],
  [
    'hostile',
    table(QUOTES, `$$ ' ${QUOTES}`),
    `"${QUOTES.replace('"', '""')}" ("$$ ' ${QUOTES.replace('"', '""')}" text)`,
  ],
  ['like what the trigger uses', table('f', 'old'), 'f ("old" text collate "C", new text, tenant_id text)'],
  [
    'as long as names can be',
    table('t'.repeat(63), 'k'.repeat(63)),
    `${'t'.repeat(63)} (${'k'.repeat(63)} text)`,
  ],
])('names are quoted: %s', async (_what, guarded, ddl) => {
  await shard.query('create schema if not exists "Sales"');
  await shard.query(`create table ${ddl}`);
  await raiseFence(shard.mover, order({ keys: ['acme'], tables: [guarded] }), 60_000);
  const into = ddl.slice(0, ddl.indexOf(' ('));
  expect(await shard.outcome(`insert into ${into} values ('acme')`)).toBe('SHM01');
  expect(await shard.outcome(`insert into ${into} values ('globex')`)).toBe('ok');
  await shard.query('delete from _sharding_fence');
});

it.each<[string, string, string]>([
  [
    'citext-like collation',
    'tenant_id text collate any_case',
    'keys of public.refused.tenant_id (text) that are equal may differ as text',
  ],
  [
    'numeric',
    'tenant_id numeric',
    'keys of public.refused.tenant_id (numeric) that are equal may differ as text',
  ],
  [
    'a time',
    'tenant_id timestamptz',
    'keys of public.refused.tenant_id (timestamptz) that are equal may differ as text',
  ],
  ['no such column', 'id int', 'public.refused has no column tenant_id'],
])('a key column that cannot be compared is refused: %s', async (_what, column, problem) => {
  await shard.query(
    `create collation if not exists any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)`,
  );
  await shard.query('drop table if exists refused');
  await shard.query(`create table refused (${column})`);
  const install = installFence(shard.mover, [table('refused'), table('absent')], { keyKind: 'text' });
  await expect(install).rejects.toMatchObject({
    code: 'move_refused',
    message: `no fence: ${problem}; there is no table public.absent`,
  });
});

it('a table that others inherit from is refused without them, and a text column where integers are routed by', async () => {
  await shard.query('create table base (tenant_id text)');
  await shard.query('create table child () inherits (base)');
  await expect(installFence(shard.mover, [table('base')], { keyKind: 'text' })).rejects.toMatchObject({
    message: 'no fence: tables that inherit from public.base are not moved with it',
  });
  await installFence(shard.mover, [table('base'), table('child')], { keyKind: 'text' });
  await expect(installFence(shard.mover, [table('child')], { keyKind: 'integer' })).rejects.toMatchObject({
    message: 'no fence: public.child.tenant_id (text) is no integer',
  });
});

it.each([
  ['a domain', 'create domain tenant as varchar(20) check (value <> $$x$$)', 'tenant'],
  ['an enum', `create type tenant_kind as enum ('acme', 'globex')`, 'tenant_kind'],
])('a key may be of %s', async (_what, ddl, type) => {
  await shard.query(ddl);
  await shard.query(`create table typed_${type} (tenant_id ${type})`);
  await raiseFence(shard.mover, order({ keys: ['acme'], tables: [table(`typed_${type}`)] }), 60_000);
  expect(await shard.outcome(`insert into typed_${type} values ('acme')`)).toBe('SHM01');
  expect(await shard.outcome(`insert into typed_${type} values ('globex'), (null)`)).toBe('ok');
  await shard.query('delete from _sharding_fence');
});

it('a computed key counts as computed', async () => {
  await shard.query(
    `create table computed (org text, tenant_id text generated always as (lower(org)) stored)`,
  );
  await raiseFence(shard.mover, order({ keys: ['acme'], tables: [table('computed')] }), 60_000);
  expect(await shard.outcome(`insert into computed values ('ACME')`)).toBe('SHM01');
  await shard.query('delete from _sharding_fence');
});

describe('a partitioned table', () => {
  beforeAll(async () => {
    await shard.query('create table events (tenant_id text, at int) partition by range (at)');
    await shard.query('create table events_1 partition of events for values from (0) to (10)');
    await shard.query(
      'create table events_2 partition of events for values from (10) to (20) partition by list (tenant_id)',
    );
    await shard.query('create table events_2a partition of events_2 default');
    await raiseFence(shard.mover, order({ keys: ['acme'], tables: [table('events')] }), 60_000);
  });

  it('is guarded in all of its partitions, also in one that comes later', async () => {
    await shard.query('create table events_3 partition of events for values from (20) to (30)');
    for (const [into, at] of [
      ['events', 1],
      ['events', 11],
      ['events_1', 1],
      ['events_2', 11],
      ['events_2a', 11],
      ['events_3', 21],
    ]) {
      expect([into, await shard.outcome(`insert into ${into} values ('acme', ${at})`)]).toEqual([
        into,
        'SHM01',
      ]);
      expect([into, await shard.outcome(`insert into ${into} values ('globex', ${at})`)]).toEqual([
        into,
        'ok',
      ]);
    }
    expect(await shard.outcome(`update events set at = 12, tenant_id = 'acme' where at = 1`)).toBe('SHM01');
    expect(await shard.outcome(`update events set at = 12 where at = 1`)).toBe('ok');
    for (const part of ['events', 'events_1', 'events_2', 'events_2a']) {
      expect([part, await shard.outcome(`truncate ${part}`)]).toEqual([part, 'SHM01']);
    }
  });

  it('loses all triggers with the fence', async () => {
    await shard.query('delete from _sharding_fence');
    await removeIdleFences(shard.mover);
    expect(await shard.guards()).toEqual([]);
  });
});

describe('an application with minimal rights', () => {
  it('is refused and served as everybody else, whatever its search_path', async () => {
    const role = `app_${Date.now().toString(36)}_${process.pid}`;
    await shard.query('create table rights (id int generated always as identity, tenant_id text)');
    await shard.query(`create role ${role} login password 'secret'`);
    await shard.query(`grant select, insert, update, delete on rights to ${role}`);
    await shard.query(`create schema evil_${role} authorization ${role}`);
    await raiseFence(shard.mover, order({ keys: ['acme'], tables: [table('rights')] }), 60_000);
    const url = new URL(shard.url);
    url.username = role;
    const app = await shard.connect(url.href);
    await app.query(
      `create function evil_${role}.anyeq(text, text) returns bool language sql as 'select false'`,
    );
    await app.query(
      `create operator evil_${role}.= (function = evil_${role}.anyeq, leftarg = text, rightarg = text)`,
    );
    await app.query(`set search_path = evil_${role}, pg_catalog, public`);
    for (const isolation of ['read committed', 'repeatable read', 'serializable']) {
      await app.query(`set default_transaction_isolation = '${isolation}'`);
      const write = (key: string) =>
        outcomeOf(app.query(`insert into public.rights (tenant_id) values ('${key}')`));
      expect([isolation, await write('acme'), await write('globex')]).toEqual([isolation, 'SHM01', 'ok']);
    }
    expect(await outcomeOf(app.query('select from public._sharding_fence'))).toBe('42501');
    const steal = `create trigger t after insert on evil_${role}.t for each row execute function `;
    const [found] = await shard.query(
      `select oid::regproc::text as name from pg_proc where proname ~ '^_sharding_fence_[0-9]'`,
    );
    await app.query(`create table evil_${role}.t (tenant_id text)`);
    expect(await outcomeOf(app.query(`${steal} public.${String(found?.['name'])}()`))).toBe('42501');
    await app.end();
    await shard.query(`drop owned by ${role} cascade`);
    await shard.query(`drop role ${role}`);
  });

  it('makes a partition of a table that it owns while that is guarded', async () => {
    const role = `owner_${Date.now().toString(36)}_${process.pid}`;
    await shard.query(`create role ${role}`);
    await shard.query('grant create on schema public to public');
    await shard.query(`create table owned (tenant_id text) partition by list (tenant_id)`);
    await shard.query(`alter table owned owner to ${role}`);
    await installFence(shard.mover, [table('owned')], { keyKind: 'text' });
    const app = await shard.connect();
    await app.query(`set role ${role}`);
    expect(await outcomeOf(app.query('create table owned_1 partition of owned default'))).toBe('ok');
    await app.end();
    await shard.query(`drop owned by ${role} cascade`);
    await shard.query(`drop role ${role}`);
  });
});
