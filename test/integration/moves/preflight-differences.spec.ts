import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { judging, openPair, type Pair } from './preflight-pair.js';

let pair: Pair;
beforeAll(async () => {
  pair = await openPair();
});
afterAll(() => pair.close());
beforeEach(() => pair.reset());

const judge = judging(() => pair);

const T = 'create table t (id int primary key, tenant_id text not null, a int)';

test.each<[what: string, source: string, destination: string, findings: string[]]>([
  ['missing', T, '', ['error table: public.t: shard1 has no such table: create it there (shardctl migrate)']],
  [
    'a view',
    T,
    'create view t as select 1 as id',
    ['error table: public.t: is a table on shard0 and a view on shard1: make both the same'],
  ],
  [
    'a foreign key that has no table',
    `${T}; create table r (id int primary key); alter table t add foreign key (a) references r;
        insert into r values (1); insert into t values (1, 'acme', 1)`,
    T,
    [
      'error foreign-key: public.t: shard1 lacks FOREIGN KEY (a) REFERENCES public.r(id): bring both shards to the same migrations',
    ],
  ],
  [
    'a column missing on either side',
    `${T}; alter table t add b text`,
    `${T}; alter table t add c numeric(3, 1)`,
    [
      'error column: public.t: shard1 lacks the column "b" (text): bring both shards to the same migrations',
      'error column: public.t: shard0 lacks the column "c" (numeric(3,1)): bring both shards to the same migrations',
    ],
  ],
  [
    'other properties of columns',
    `create table t (id int primary key, tenant_id text not null, a numeric(38, 18), b text collate "C", c int not null,
        d int generated always as (c + 1) stored, e int generated always as identity)`,
    `create table t (id int primary key, tenant_id text not null, a numeric, b text, c int,
        d int generated always as (c + 2) stored, e int not null)`,
    [
      'error column: public.t: column "a" is numeric(38,18) on shard0 and numeric on shard1: make both the same',
      `error column: public.t: column "b" has the collation "C" on shard0 and "default" on shard1: make both the same`,
      'error column: public.t: column "c" is not null on shard0 and null on shard1: make both the same',
      'error column: public.t: column "d" is generated as stored (c + 1) on shard0 and stored (c + 2) on shard1: make both the same',
      'error column: public.t: column "e" is an identity always on shard0 and (none) on shard1: make both the same',
    ],
  ],
  [
    'a label',
    `create type mood as enum ('a', 'closed'); ${T}; alter table t add b mood[]`,
    `create type mood as enum ('a', 'b'); ${T}; alter table t add b mood[]`,
    [
      `error type: the enum public.mood lacks 'closed' on shard1: make both the same`,
      `error type: the enum public.mood lacks 'b' on shard0: make both the same`,
    ],
  ],
  [
    'the order of labels',
    `create type mood as enum ('a', 'b'); ${T}; alter table t add b mood`,
    `create type mood as enum ('b', 'a'); ${T}; alter table t add b mood`,
    [
      'error type: the enum public.mood has its labels in another order on shard1, so that its values compare differently: make both the same',
    ],
  ],
  [
    'a stricter domain within a row',
    `create domain d as int; create type c as (x d); ${T}; alter table t add b c`,
    `create domain d as int check (value > 0); create type c as (x d); ${T}; alter table t add b c`,
    ['error type: the domain public.d lacks CHECK ((VALUE > 0)) on shard0: make both the same'],
  ],
  [
    'checks, keys and foreign keys',
    `create table r (id int primary key); create table t (id int primary key, tenant_id text, a int unique references r,
        check (a > 0))`,
    `create table r (id int primary key); create table t (id int primary key, tenant_id text, a int,
        unique (id, a), foreign key (a) references r on delete cascade, check (a > 1)); create unique index on t (a) where a > 5`,
    [
      'error constraint: public.t: shard1 lacks CHECK ((a > 0)): bring both shards to the same migrations',
      'error constraint: public.t: shard0 lacks CHECK ((a > 1)): bring both shards to the same migrations',
      'error unique-key: public.t: shard1 lacks UNIQUE (a): bring both shards to the same migrations',
      'error unique-key: public.t: shard0 lacks UNIQUE (id, a): bring both shards to the same migrations',
      'error unique-key: public.t: shard0 lacks unique index btree (a) WHERE (a > 5): bring both shards to the same migrations',
      'error foreign-key: public.t: shard1 lacks FOREIGN KEY (a) REFERENCES public.r(id): bring both shards to the same migrations',
      'error foreign-key: public.t: shard0 lacks FOREIGN KEY (a) REFERENCES public.r(id) ON DELETE CASCADE: bring both shards to the same migrations',
      'warning exclusion: public.t: whether rows clash in "t_a_idx" on shard1 is found by the copy itself, which is rolled back then',
    ],
  ],
  [
    'a partition, and what is below it',
    `create table t (id int, tenant_id text, primary key (id, tenant_id)) partition by list (tenant_id);
      create table a partition of t for values in ('acme') partition by list (id); create table b partition of a default;
      create table c partition of t default`,
    `create table t (id int, tenant_id text, primary key (id, tenant_id)) partition by list (tenant_id);
      create table c partition of t default; alter table c add check (id > 0)`,
    [
      `error partition: public.t: shard1 lacks the partition FOR VALUES IN ('acme'): create it there`,
      'error constraint: public.t: shard0 lacks CHECK ((id > 0)) of the partition DEFAULT: bring both shards to the same migrations',
    ],
  ],
  [
    'another way of partitioning',
    'create table t (id int, tenant_id text, primary key (id, tenant_id)) partition by list (tenant_id)',
    'create table t (id int, tenant_id text, primary key (id, tenant_id)) partition by list (id)',
    [
      'error table: public.t: is partitioned by LIST (tenant_id) on shard0 and by LIST (id) on shard1: make both the same',
    ],
  ],
  [
    'unlogged at the destination',
    `${T}; create unlogged table u (id int primary key, tenant_id text)`,
    `${T}; alter table t set unlogged; create unlogged table u (id int primary key, tenant_id text)`,
    [
      'error persistence: public.t: is unlogged on shard1: a crash there empties it (alter table ... set logged)',
      'warning persistence: public.u: is unlogged on shard1: a crash there empties it',
    ],
  ],
  [
    'relatives',
    `${T}; create table heir (primary key (id)) inherits (t)`,
    `${T}; create table heir (primary key (id)) inherits (t)`,
    [
      'error inheritance: public.heir: shares rows by inheritance with public.t on shard0, which a move does not know: end the inheritance (alter table ... no inherit)',
      'error inheritance: public.heir: shares rows by inheritance with public.t on shard1, which a move does not know: end the inheritance (alter table ... no inherit)',
      'error inheritance: public.t: shares rows by inheritance with public.heir on shard0, which a move does not know: end the inheritance (alter table ... no inherit)',
      'error inheritance: public.t: shares rows by inheritance with public.heir on shard1, which a move does not know: end the inheritance (alter table ... no inherit)',
    ],
  ],
])('%s', async (_what, source, destination, findings) => {
  await pair.run('source', source);
  if (destination !== '') await pair.run('destination', destination);
  expect(await judge()).toEqual(findings);
});
