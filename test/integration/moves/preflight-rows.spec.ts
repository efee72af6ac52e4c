import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from '@jest/globals';
import { SHARD_MIGRATIONS } from '@app/sharding';
import { judging, openPair, type Pair } from './preflight-pair.js';

let pair: Pair;
beforeAll(async () => {
  pair = await openPair();
});
afterAll(() => pair.close());
beforeEach(() => pair.reset());

const judge = judging(() => pair);
const both = (sql: string) => pair.run('both', sql);
const source = (sql: string) => pair.run('source', sql);
const destination = (sql: string) => pair.run('destination', sql);

const there = (table: string, rows: string) =>
  `error rows: ${table}: shard1 has ${rows} of the moved keys already: see where they came from (shardctl audit), and remove them`;
const clash = (table: string, rows: string, columns: string) =>
  `error collision: ${table}: ${rows} of other keys on shard1 have the same (${columns}) as rows that are to come: change them on one side, or let the move number rows anew (--reassign-ids)`;

describe('rows of the keys at the destination', () => {
  beforeEach(async () => {
    await both(
      'create table t (id int primary key, tenant_id text); create table u (id int primary key, tenant_id text)',
    );
    await destination(
      `insert into t values (1, 'acme'), (2, 'acme'), (3, 'globex'); insert into u values (1, 'acme')`,
    );
    await source(`insert into t values (1, 'acme'), (4, 'acme'), (3, 'globex')`);
  });

  it('are counted by table, and are not clashes', async () => {
    expect(await judge()).toEqual([there('public.t', '2 rows'), there('public.u', '1 row')]);
  });

  it('may be an earlier copy of the same move', async () => {
    expect(await judge({ ownCopy: true })).toEqual([]);
  });
});

describe('unique values', () => {
  test.each<[what: string, column: string, moved: string, held: string, rows: string]>([
    ['bigint', 'bigint unique', '9007199254740993', '9007199254740992, 9007199254740993', '1 row'],
    [
      'numeric',
      'numeric(38, 18) unique',
      '0.1, 12345678901234567890.123456789012345678',
      '0.100, 12345678901234567890.123456789012345677',
      '1 row',
    ],
    [
      'uuid',
      'uuid unique',
      `'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'`,
      `'a0eebc999c0b4ef8bb6d6bb9bd380a11'`,
      '1 row',
    ],
    [
      'text',
      'text unique',
      `'a', 'a,"b"\\c', '', 'null', 'Ä'`,
      `'A', 'a,"b"\\c', '', 'null', ' ', 'ä'`,
      '3 rows',
    ],
    ['float8', 'float8 unique', '0.1::float8 + 0.2::float8', '0.3, 0.1::float8 + 0.2::float8', '1 row'],
    ['bytea', 'bytea unique', `'\\x00ff'`, `'\\x00ff', '\\x00'`, '1 row'],
    [
      'timestamptz',
      'timestamptz unique',
      `'2026-01-01 12:00:00.123456+02'`,
      `'2026-01-01 10:00:00.123456+00'`,
      '1 row',
    ],
    ['nulls that differ', 'int unique', 'null, 1', 'null, 2', '0'],
    ['nulls that are equal', 'int unique nulls not distinct', 'null, 1', 'null, 2', '1 row'],
    ['an index', 'int, unique (a, id)', '1, 2', '3, 2', '1 row'],
    ['no key of several tenants', 'int, unique (tenant_id, a)', '1, 2', '1, 2', '0'],
    ['an enum', 'mood unique', `'bad'`, `'bad', 'fine'`, '1 row'],
  ])('%s', async (_what, column, moved, held, rows) => {
    await both(
      `create type mood as enum ('fine', 'bad'); create table t (id int not null, tenant_id text, a ${column}, primary key (tenant_id, id))`,
    );
    const insert = (tenant: string, values: string) => {
      const list = values.split(/, (?!"b)/).map((value, index) => `(${index}, '${tenant}', ${value})`);
      return `insert into t values ${list.join(', ')}`;
    };
    await source(insert('acme', moved));
    await destination(insert('globex', held));
    const columns = column.includes('(a, id)') ? 'a, id' : 'a';
    expect(await judge()).toEqual(rows === '0' ? [] : [clash('public.t', rows, columns)]);
  });

  it('of many rows are all looked at, and rows that stay are not', async () => {
    await both('create table t (id bigint primary key, tenant_id text, "a b" text unique)');
    await source(`insert into t select n, case when n % 2 = 0 then 'acme' else 'globex' end, 'x' || n
      from generate_series(1, 24000) n`);
    await destination(`insert into t select n, 'initech', 'x' || n + 4 from generate_series(23991, 24010) n`);
    expect(await judge()).toEqual([clash('public.t', '3 rows', 'a b'), clash('public.t', '5 rows', 'id')]);
  });

  it('of a partitioned table are looked at', async () => {
    await both(`create table t (id int primary key, tenant_id text) partition by range (id);
      create table a partition of t for values from (0) to (10); create table b partition of t default`);
    await source(`insert into t values (1, 'acme'), (11, 'acme'), (12, 'acme')`);
    await destination(`insert into t values (1, 'globex'), (12, 'globex'), (13, 'globex')`);
    expect(await judge()).toEqual([clash('public.t', '2 rows', 'id')]);
  });
});

describe('references', () => {
  it('to rows that the destination lacks are counted', async () => {
    await both(`create table country (code text primary key); create table town (country text references country, name text,
        primary key (country, name));
      create table t (id int primary key, tenant_id text, country text references country, name text,
        foreign key (country, name) references town)`);
    await both(
      `insert into country values ('de'), ('fr'), ('it'); insert into town values ('de', 'Ulm'), ('fr', 'Metz')`,
    );
    await source(`insert into t values (1, 'acme', 'de', 'Ulm'), (2, 'acme', 'fr', 'Metz'), (3, 'acme', 'fr', 'Metz'),
      (4, 'acme', 'it', null), (5, 'acme', null, 'x'), (6, 'globex', 'it', null)`);
    expect(await judge()).toEqual([]);
    await destination(`delete from town where name = 'Metz'; delete from country where code in ('it', 'fr')`);
    expect(await judge()).toEqual([
      'error reference: public.t: refers by (country) to 2 rows of public.country that shard1 does not have: bring them there first',
      'error reference: public.t: refers by (country, name) to 1 row of public.town that shard1 does not have: bring them there first',
    ]);
  });

  it('between keys are found, in both directions', async () => {
    await both(`create table folder (id int primary key, tenant_id text, unique (tenant_id, id));
      create table t (id int primary key, tenant_id text, folder int references folder, same int,
        foreign key (tenant_id, same) references folder (tenant_id, id))`);
    await source(`insert into folder values (1, 'acme'), (2, 'globex');
      insert into t values (1, 'acme', 1, 1), (2, 'globex', 2, 2), (3, 'globex', null, null)`);
    expect(await judge()).toEqual([]);
    await source(`update t set folder = 2 where id = 1; update t set folder = 1 where id = 3`);
    expect(await judge()).toEqual([
      'error reference: public.t: 2 rows on shard0 belong to another key than the row of public.folder that they refer to by (folder), and would be parted from it: move both keys, or mend the rows',
    ]);
    expect(await judge({ keys: ['acme', 'globex'] })).toEqual([]);
  });
});

describe('whole slots', () => {
  const slots = Array.from({ length: 16_384 }, (_none, slot) => slot);

  it('need the functions of the framework', async () => {
    await both('create table t (id int primary key, tenant_id text)');
    expect(await judge({ slots: [1] })).toEqual(
      ['shard0', 'shard1'].map(
        (shard) => `error framework: ${shard} lacks the function _sharding_slot: run shardctl migrate`,
      ),
    );
  });

  it('leave out the keys that are kept', async () => {
    await both('create table t (id int primary key, tenant_id text)');
    await slotFunctions();
    await both(`insert into t values (1, 'acme'), (2, 'globex')`);
    expect(await judge({ slots })).toEqual([there('public.t', '2 rows')]);
    expect(await judge({ slots, kept: ['acme'] })).toEqual([there('public.t', '1 row')]);
    expect(await judge({ slots: [slots[0]!] })).toEqual([]);
  });

  it('want keys of the kind that is said, and an index over the slot', async () => {
    await both(
      'create table t (id int primary key, tenant_id text); create table u (id int primary key, tenant_id int)',
    );
    await slotFunctions();
    await source(`update pg_class set reltuples = 100000 where relname = 'u'`);
    expect(await judge({ slots: [1], keyKind: 'integer' })).toEqual([
      'error key: public.t: the key column "tenant_id" is text, and the keys are said to be integers: leave the kind of the keys at text',
      'warning index: public.u: has about 100,000 rows on shard0, which are all read at each step; an index helps: create index concurrently on public.u (_sharding_slot(("tenant_id"::bigint)))',
    ]);
    await both('create index concurrently on public.u (_sharding_slot(("tenant_id"::bigint)))');
    expect(await judge({ slots: [1], keyKind: 'integer', tables: ['u'] })).toEqual([]);
  });
});

async function slotFunctions(): Promise<void> {
  const runner = { query: (sql: string) => both(sql) };
  await SHARD_MIGRATIONS.find(({ name }) => name.startsWith('SlotFunctions'))?.up(runner as never);
}
