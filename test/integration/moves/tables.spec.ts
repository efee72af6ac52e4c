import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from '@jest/globals';
import { openPair, type Pair, movedTables } from './preflight-pair.js';

let pair: Pair;
beforeAll(async () => {
  pair = await openPair();
});
afterAll(() => pair.close());
beforeEach(() => pair.reset());

const create = (sql: string) => pair.run('source', sql);
const read = (tables?: readonly string[], keyColumn = 'tenant_id') =>
  movedTables(pair.source, { tables, keyColumn });
const names = async (tables?: readonly string[], keyColumn?: string) =>
  (await read(tables, keyColumn)).map(({ schema, name }) => `${schema}|${name}`);
const refusal = (tables?: readonly string[], keyColumn?: string) =>
  read(tables, keyColumn).then(
    () => 'none',
    ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
  );

describe('without names', () => {
  it('takes all tables with the key column, and nothing else', async () => {
    await create(`
      create schema other; create table other.far (tenant_id text);
      create table b (tenant_id text); create table "A b" (tenant_id text); create table plain (id int);
      create table parted (tenant_id text) partition by list (tenant_id);
      create table part partition of parted for values in ('acme');
      create view seen as select * from b; create materialized view kept as select * from b;
      create temp table passing (tenant_id text); create unlogged table "unlogged" (tenant_id text);
      create table _sharding_own (tenant_id text); create table renamed (tenant_id text);
      alter table renamed drop column tenant_id`);
    expect(await names()).toEqual(['public|A b', 'public|b', 'public|parted', 'public|unlogged']);
  });

  it('puts a table after those that it refers to, by way of partitions too', async () => {
    await create(`
      create table z (id int primary key, tenant_id text); create table y (id int, tenant_id text, primary key (id))
        partition by range (id);
      create table y1 partition of y for values from (0) to (10);
      alter table y1 add foreign key (id) references z;
      create table a (tenant_id text, y int references y); create table m (tenant_id text)`);
    expect(await names()).toEqual(['public|z', 'public|y', 'public|a', 'public|m']);
  });

  it('allows rings', async () => {
    await create(`
      create table a (id int primary key, tenant_id text, parent int references a);
      create table b (id int primary key, tenant_id text, a int references a);
      alter table a add b int references b; create table c (tenant_id text, a int references a)`);
    expect(await names()).toEqual(['public|a', 'public|b', 'public|c']);
  });

  it('says that there is none', async () => {
    await create('create table t (id int)');
    expect(await refusal()).toBe('move_refused: no table of the search path has a column "tenant_id"');
  });
});

describe('a table', () => {
  it('has its columns by name, with qualified types', async () => {
    await create(`
      create type mood as enum ('fine'); create table t (
        z numeric(38, 18), tenant_id varchar(20) not null, "A" mood, moods mood[], gone int,
        twice numeric generated always as (z * 2) stored, "virtual" int generated always as (1) virtual, seen timestamptz(3));
      alter table t drop column gone`);
    expect(await read()).toEqual([
      {
        schema: 'public',
        name: 't',
        columns: [
          { name: 'A', type: 'public.mood', generated: false },
          { name: 'moods', type: 'public.mood[]', generated: false },
          { name: 'seen', type: 'timestamp(3) with time zone', generated: false },
          { name: 'tenant_id', type: 'character varying(20)', generated: false },
          { name: 'twice', type: 'numeric', generated: true },
          { name: 'virtual', type: 'integer', generated: true },
          { name: 'z', type: 'numeric(38,18)', generated: false },
        ],
        key: { name: 'tenant_id', type: 'character varying(20)', generated: false },
        id: [],
        format: 'text',
      },
    ]);
  });

  test.each([
    ['int, b text, c jsonb, d uuid[], e int4range, f inet, g int4multirange', 'binary'],
    ['regclass', 'text'],
    ['regtype[]', 'text'],
    ['mood', 'text'],
    ['mood[]', 'text'],
    ['short', 'text'],
    ['pair', 'text'],
    ['spans', 'text'],
    ['manyspans', 'text'],
    ['aclitem', 'text'],
    ['information_schema.sql_identifier[]', 'text'],
  ])('with %s is copied as %s', async (type, format) => {
    await create(`
      create type mood as enum ('fine'); create domain short as text; create type pair as (a int, b int);
      create type spans as range (subtype = text, multirange_type_name = manyspans);
      create table t (tenant_id text, a ${type})`);
    expect((await read())[0]?.format).toBe(format);
  });

  test.each([
    ['primary key (b, a), unique (tenant_id)', '', ['b', 'a']],
    ['unique (a, b), unique (tenant_id)', '', ['tenant_id']],
    ['unique (a, b), unique (c)', '', ['a', 'b']],
    ['unique (c)', '', []],
    ['check (a > 0)', 'create unique index on t (a) where a > 1', []],
    ['check (a > 0)', 'create unique index on t ((a + 1))', []],
    ['check (a > 0)', 'create unique index on t (b) include (a)', ['b']],
  ])('is identified by %s %s', async (constraints, more, id) => {
    await create(
      `create table t (tenant_id text not null, a int not null, b int not null, c int, ${constraints}); ${more}`,
    );
    expect((await read())[0]?.id).toEqual(id);
  });
});

describe('a name', () => {
  beforeEach(() =>
    create(`
      create schema other; create table other.t (tenant_id text); create table t (tenant_id text);
      create table "Select" (tenant_id text); create table "order" (tenant_id text); create table "a.b" (tenant_id text);
      create schema "o.p"; create table "o.p"."q.r" (tenant_id text); create table "x"" y" (tenant_id text);
      create table other.only (tenant_id text); create table lacking (id int)`),
  );

  test.each([
    ['t', 'public|t'],
    ['public.t', 'public|t'],
    ['other.t', 'other|t'],
    ['Select', 'public|Select'],
    ['order', 'public|order'],
    ['a.b', 'public|a.b'],
    ['public.a.b', 'public|a.b'],
    ['o.p.q.r', 'o.p|q.r'],
    ['x" y', 'public|x" y'],
  ])('%s means %s', async (name, meant) => {
    expect(await names([name])).toEqual([meant]);
  });

  test.each([
    [['only', 'SELECT', 't'], 'no such table: "only", "SELECT"'],
    [['"Select"'], 'no such table: "\\"Select\\""'],
    [['lacking'], '"lacking" has no column "tenant_id"'],
    [['nothing', 'lacking'], 'no such table: "nothing"; "lacking" has no column "tenant_id"'],
    [[], 'no table is named'],
  ])('%j is refused', async (wanted, problem) => {
    expect(await refusal(wanted)).toBe(
      `move_refused: ${problem}; tables with "tenant_id": public.Select, public.a.b, public.order, public.t, public.x" y`,
    );
  });

  it('that may be two tables is refused', async () => {
    await create('create schema a; create table a.b (tenant_id text)');
    expect(await refusal(['a.b'])).toContain(
      '"a.b" may be table "b" of schema "a" or table "a.b" of schema "public": name it with its schema',
    );
  });

  it('given twice is one table', async () => {
    expect(await names(['t', 'public.t', 't'])).toEqual(['public|t']);
  });
});

it('names what is no table that moves', async () => {
  await create(`
    create table t (tenant_id text) partition by list (tenant_id); create table p partition of t default;
    create view v as select * from t; create temp table tmp (tenant_id text); create table _sharding_x (tenant_id text)`);
  expect(await refusal(['p', 'v', '_sharding_x', 'tmp'])).toBe(
    'move_refused: no such table: "tmp"; "p" is a partition: name the partitioned table, which moves as a whole; ' +
      '"v" is a view, and is not moved by its name; "_sharding_x" is a table of the framework, and is not moved by its name; ' +
      'tables with "tenant_id": public.t',
  );
});

it('looks in the schemas of the search path, in their order', async () => {
  await create(`create schema other; create table other.t (tenant_id text); create table t (tenant_id text);
    create table u (tenant_id text)`);
  const session = { ...pair.source, searchPath: ['other', 'public'] };
  const wanted = { keyColumn: 'tenant_id', tables: ['u', 't'] };
  expect((await movedTables(session, wanted)).map(({ schema, name }) => `${schema}.${name}`)).toEqual([
    'other.t',
    'public.u',
  ]);
  expect(await movedTables(session, { keyColumn: 'tenant_id' })).toHaveLength(3);
});
