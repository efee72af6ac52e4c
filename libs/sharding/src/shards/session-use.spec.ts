import { describe, expect, it } from '@jest/globals';
import { refuseSessionUse, sessionUse } from './session-use.js';

describe('outlives its transaction', () => {
  it.each([
    [`set app.tenant = 'acme'`, 'SET'],
    [`SET SESSION app.tenant = 'acme'`, 'SET'],
    [`set role other`, 'SET'],
    [`set session authorization other`, 'SET'],
    [`set session characteristics as transaction read only`, 'SET'],
    [`/* hint */ set app.tenant = 'acme'`, 'SET'],
    [`-- hint\nset app.tenant = 'acme'`, 'SET'],
    [`select 1; set app.tenant = 'acme'`, 'SET'],
    [`select 'it''s'; set app.tenant = 'acme'`, 'SET'],
    [`select e'it\\'s'; set app.tenant = 'acme'`, 'SET'],
    ['reset all', 'RESET'],
    ['discard all', 'DISCARD'],
    ['listen mine', 'LISTEN'],
    ['unlisten *', 'UNLISTEN'],
    ['prepare mine as select 1', 'PREPARE'],
    ['execute mine', 'EXECUTE'],
    ['deallocate all', 'DEALLOCATE'],
    [`load 'auto_explain'`, 'LOAD'],
    ['create temp table mine (id int)', 'a temporary table'],
    ['create temporary table mine as select 1', 'a temporary table'],
    ['create local temp table mine (id int) on commit delete rows', 'a temporary table'],
    ['create or replace temp view mine as select 1', 'a temporary table'],
    ['create table pg_temp.mine (id int)', 'a temporary table'],
    ['select 1 as one into temp mine', 'a temporary table'],
    ['with a as (select 1) select * into temporary table mine from a', 'a temporary table'],
    ['declare mine cursor with hold for select 1', 'a cursor WITH HOLD'],
    ['select pg_advisory_lock(1)', 'pg_advisory_lock'],
    ['select pg_try_advisory_lock_shared(1, 2)', 'pg_try_advisory_lock_shared'],
    ['select pg_catalog."pg_advisory_lock" (1)', 'pg_advisory_lock'],
    ['select pg_advisory_unlock_all()', 'pg_advisory_unlock_all'],
    [`select set_config('app.tenant', 'acme', false)`, 'set_config(..., false)'],
    [`select pg_catalog.set_config('app.tenant', (select lower('A, B')), FALSE)`, 'set_config(..., false)'],
    [`select set_config('a', 'b', true), set_config('c', 'd', false)`, 'set_config(..., false)'],
    [`select "set_config"('app.tenant', 'acme', false)`, 'set_config(..., false)'],
    [`select set_config('app.tenant', 'acme', 1 = 2)`, 'set_config(..., false)'],
    [`do $$ begin perform set_config('app.tenant', 'acme', false); end $$`, 'set_config(..., false)'],
    [`do $$ begin set app.tenant = 'acme'; end $$`, 'SET'],
    [`do $$ begin execute 'set app.tenant = 1'; end $$`, 'EXECUTE'],
  ])('%s', (sql, use) => {
    expect(sessionUse(sql)).toBe(use);
  });

  it('by its parameter', () => {
    const sql = 'select set_config($1, $2, $3)';
    expect(sessionUse(sql, ['app.tenant', 'acme', false])).toBe('set_config(..., false)');
    expect(sessionUse(sql, ['app.tenant', 'acme'])).toBe('set_config(..., false)');
    expect(sessionUse(sql, ['app.tenant', 'acme', true])).toBeUndefined();
  });
});

describe('ends with its transaction, or is no such statement', () => {
  it.each([
    [`set local app.tenant = 'acme'`],
    ['SET TRANSACTION ISOLATION LEVEL SERIALIZABLE'],
    ['set transaction read only'],
    ['set constraints all deferred'],
    ['start transaction; set local statement_timeout = 400; select 1'],
    [`select set_config('app.tenant', $1, true)`],
    [`select set_config('app.tenant', 'false)', TRUE)`],
    [`select set_config(setting_name => 'a', new_value => 'b', is_local => true)`],
    [`select set_config('app.tenant', 'acme', true::boolean)`],
    ['select pg_advisory_xact_lock(1), pg_try_advisory_xact_lock(2)'],
    [`update notes\nset body = 'x'\nwhere id = 1`],
    [`update notes -- comment\n  set body = 'x'`],
    ['UPDATE "notes" SET "body" = $1 WHERE "id" = $2'],
    [`alter table notes\nset schema other`],
    [`insert into notes (body) values ('set app.tenant; listen; discard all')`],
    [`insert into notes (body) values ('; set app.tenant = 1')`],
    [`insert into notes (body) values ('set_config(a, b, false)')`],
    [`select $$; set app.tenant = 1$$, $q$ pg_advisory_lock( $q$`],
    ['insert into temp (id) values (1)'],
    ['insert into "temp" select 1'],
    ['select "set", "temp" from "into"'],
    ['create temp table mine on commit drop as select 1'],
    ['declare mine cursor for select 1'],
    ['create table notes_temp (id int)'],
    ['create function f() returns text language sql as $$ select set_config($1, $2, false) $$'],
    ['select setval($1, $2), nextval($1)'],
    [`do $$ begin update notes set body = 'x'; end $$`],
    [`do $$ begin perform set_config('app.tenant', 'acme', true); set local work_mem = '4MB'; end $$`],
    ['select 1 offset 2'],
    ['notify mine'],
    ['execute_all'],
  ])('%s', (sql) => {
    expect(sessionUse(sql)).toBeUndefined();
  });
});

it('the refusal says what to use instead, and nothing of the statement', () => {
  expect(() => refuseSessionUse('shard:eu', `set app.tenant = 'acme'`)).toThrow(
    'shard "eu" is behind a transaction-mode pooler, where SET would reach whoever gets the server\'s session next: use SET LOCAL, set_config(..., true) or pg_advisory_xact_lock inside tx(), or a direct connection (maintenance_url)',
  );
});
