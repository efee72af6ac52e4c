import { expect, it } from '@jest/globals';
import { TestCluster } from '@test/support';
import { runOnce, withDatabase } from '../../support/admin-query.js';
import { NOTES } from '../../support/fresh-databases.js';
import { Shardctl } from '../../support/shardctl.js';
import { tomlOf } from './deployed.js';
import { diff, drifted, found } from './schema-drift.js';

const shardctl = Shardctl.attach();

it('names what types and collations differ in', async () => {
  const place = await drifted({
    everywhere: [
      `create type color as enum ('red', 'green', 'blue')`,
      `create type size as enum ('small', 'big')`,
      'create domain positive as int check (value > 0)',
      'create domain label as text',
      'create type point2 as (x int, y int)',
      'create type span as range (subtype = int)',
      'create collation plain (provider = libc, locale = "C")',
      'create schema gone',
      'create table gone.things (id int primary key)',
    ],
    on: {
      1: [
        'drop type color',
        `create type color as enum ('green', 'red', 'blue')`,
        `alter type size add value 'medium' before 'big'`,
        'alter domain positive drop constraint positive_check',
        'alter domain positive add constraint positive_check check (value > 1)',
        `alter domain label set default 'none'`,
        'alter domain label set not null',
        'alter type point2 add attribute z int',
        'drop type span',
        'create type span as range (subtype = bigint)',
        'drop collation plain',
        'create collation plain (provider = libc, locale = "POSIX")',
        'drop schema gone cascade',
        'create schema added',
      ],
    },
  });
  expect(await diff(shardctl, place.toml)).toEqual(
    found([
      ['schema added: only on shard1', 'schema', 'added', ['exists', true, false]],
      ['schema gone: missing on shard1', 'schema', 'gone', ['exists', false, true]],
      [
        'collation public.plain: collate = POSIX on shard1, else C',
        'collation',
        'public.plain',
        ['collate', 'POSIX', 'C'],
      ],
      [
        'collation public.plain: character type = POSIX on shard1, else C',
        'collation',
        'public.plain',
        ['character type', 'POSIX', 'C'],
      ],
      [
        "enum public.color: labels = 'green', 'red', 'blue' on shard1, else 'red', 'green', 'blue'",
        'enum',
        'public.color',
        ['labels', "'green', 'red', 'blue'", "'red', 'green', 'blue'"],
      ],
      [
        "enum public.size: labels = 'small', 'medium', 'big' on shard1, else 'small', 'big'",
        'enum',
        'public.size',
        ['labels', "'small', 'medium', 'big'", "'small', 'big'"],
      ],
      [
        "domain public.label: default = 'none'::text on shard1, else none",
        'domain',
        'public.label',
        ['default', "'none'::text", null],
      ],
      [
        'domain public.label: nullability = not null on shard1, else null',
        'domain',
        'public.label',
        ['nullability', 'not null', 'null'],
      ],
      [
        'domain public.positive: constraints = positive_check CHECK ((VALUE > 1)) on shard1, else positive_check CHECK ((VALUE > 0))',
        'domain',
        'public.positive',
        ['constraints', 'positive_check CHECK ((VALUE > 1))', 'positive_check CHECK ((VALUE > 0))'],
      ],
      [
        'composite type public.point2: attributes = x integer, y integer, z integer on shard1, else x integer, y integer',
        'composite type',
        'public.point2',
        ['attributes', 'x integer, y integer, z integer', 'x integer, y integer'],
      ],
      [
        'range type public.span: subtype = bigint on shard1, else integer',
        'range type',
        'public.span',
        ['subtype', 'bigint', 'integer'],
      ],
      [
        'range type public.span: operator class = pg_catalog.int8_ops on shard1, else pg_catalog.int4_ops',
        'range type',
        'public.span',
        ['operator class', 'pg_catalog.int8_ops', 'pg_catalog.int4_ops'],
      ],
    ]),
  );
});

it('names what functions, extensions and event triggers differ in', async () => {
  const place = await drifted({
    everywhere: [
      `create function twice(n int) returns int language sql as $$
  select n
    + n
$$`,
      'create function calm() returns int language sql as $$ select 1 $$',
      'create function added(n int) returns int language sql as $$ select n $$',
      'create procedure work() language sql as $$ select 1 $$',
      'create aggregate total(int) (sfunc = int4pl, stype = int)',
      'create function noted() returns event_trigger language plpgsql as $$ begin end $$',
      'create event trigger noted on ddl_command_end execute function noted()',
      'create event trigger off on ddl_command_end execute function noted()',
    ],
    on: {
      1: [
        `create or replace function twice(n int) returns int language sql as $$
  select n
    + n + 1
$$`,
        'alter function calm() stable security definer',
        'create function added(n text) returns int language sql as $$ select 1 $$',
        'drop procedure work()',
        'create or replace aggregate total(int) (sfunc = int4pl, stype = int, initcond = 1)',
        'drop event trigger noted',
        `create event trigger noted on ddl_command_end when tag in ('CREATE TABLE') execute function noted()`,
        'alter event trigger off disable',
        'set allow_system_table_mods = on',
        `update pg_extension set extversion = '0.9' where extname = 'plpgsql'`,
      ],
    },
  });
  expect(await diff(shardctl, place.toml)).toEqual(
    found([
      [
        'extension plpgsql: version = 0.9 on shard1, else 1.0',
        'extension',
        'plpgsql',
        ['version', '0.9', '1.0'],
      ],
      [
        'function public.added(n text): only on shard1',
        'function',
        'public.added(n text)',
        ['exists', true, false],
      ],
      [
        'function public.calm(): definition line 4 = "STABLE SECURITY DEFINER" on shard1, else "AS $function$ select 1 $function$"',
        'function',
        'public.calm()',
        [
          'definition',
          'CREATE OR REPLACE FUNCTION public.calm()\n RETURNS integer\n LANGUAGE sql\n STABLE SECURITY DEFINER\nAS $function$ select 1 $function$\n',
          'CREATE OR REPLACE FUNCTION public.calm()\n RETURNS integer\n LANGUAGE sql\nAS $function$ select 1 $function$\n',
        ],
      ],
      [
        'function public.twice(n integer): definition line 6 = "+ n + 1" on shard1, else "+ n"',
        'function',
        'public.twice(n integer)',
        [
          'definition',
          'CREATE OR REPLACE FUNCTION public.twice(n integer)\n RETURNS integer\n LANGUAGE sql\nAS $function$\n  select n\n    + n + 1\n$function$\n',
          'CREATE OR REPLACE FUNCTION public.twice(n integer)\n RETURNS integer\n LANGUAGE sql\nAS $function$\n  select n\n    + n\n$function$\n',
        ],
      ],
      ['procedure public.work(): missing on shard1', 'procedure', 'public.work()', ['exists', false, true]],
      [
        'aggregate public.total(integer): definition = "...unc = -, initcond = \'1\', sortop = 0, kind = n, parallel = u" on shard1, else "...unc = -, initcond = NULL, sortop = 0, kind = n, parallel = u"',
        'aggregate',
        'public.total(integer)',
        [
          'definition',
          "sfunc = int4pl(integer,integer), stype = integer, finalfunc = -, combinefunc = -, initcond = '1', sortop = 0, kind = n, parallel = u",
          'sfunc = int4pl(integer,integer), stype = integer, finalfunc = -, combinefunc = -, initcond = NULL, sortop = 0, kind = n, parallel = u',
        ],
      ],
      [
        'event trigger noted: tags = CREATE TABLE on shard1, else none',
        'event trigger',
        'noted',
        ['tags', 'CREATE TABLE', null],
      ],
      [
        'event trigger off: enabled = no on shard1, else yes',
        'event trigger',
        'off',
        ['enabled', 'no', 'yes'],
      ],
    ]),
  );
});

it('names a database with another locale', async () => {
  const place = await drifted({});
  const [url = ''] = place.shards;
  await runOnce(
    withDatabase(url, 'postgres'),
    `create database other_locale template template0 locale 'C' locale_provider builtin builtin_locale 'C.UTF-8'`,
  );
  const other = withDatabase(url, 'other_locale');
  try {
    await runOnce(other, NOTES);
    const toml = tomlOf({ shards: [...place.shards.slice(1), other] });
    expect(await diff(shardctl, toml)).toEqual(
      found([
        [
          'database locale: provider = builtin on shard2, else libc',
          'database',
          'locale',
          ['provider', 'builtin', 'libc'],
          'shard2',
        ],
        [
          'database locale: provider locale = C.UTF-8 on shard2, else none',
          'database',
          'locale',
          ['provider locale', 'C.UTF-8', null],
          'shard2',
        ],
      ]),
    );
  } finally {
    await TestCluster.attach().dropDatabase(other);
  }
});
