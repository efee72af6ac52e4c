import { it } from '@jest/globals';
import { Shardctl } from '../../support/shardctl.js';
import { Doctored } from './doctor-fleet.js';
import { drift, expectDoctor, type Said } from './doctor-says.js';

const shardctl = Shardctl.attach();
const at = Doctored.everyTest();

const onBoth = async (statement: string) => {
  await at.fleet.sql(0, statement);
  await at.fleet.sql(1, statement);
};

it('misses an index that begins with the tenant column', async () => {
  await at.fleet.sql(1, 'drop index notes_tenant_id; create index notes_tenant_id on notes (id, tenant_id)');
  await expectDoctor(shardctl, { toml: at.fleet.toml }, [
    [
      'warning shard:shard1 tenant-index',
      'no index of the table notes begins with tenant_id: each read of a tenant, and each move, reads all rows',
      'create index concurrently on notes (tenant_id), with the columns behind it that you order or filter by',
    ],
    drift('shard:shard1', 'index public.notes_tenant_id (definition)'),
  ]);
});

it('warns of unique keys without the tenant column, but for ids and references', async () => {
  await at.fleet.sql(
    0,
    `create unique index notes_body on notes (body); create unique index notes_tenant_body on notes (tenant_id, body);
      create unique index notes_lower on notes (lower(body)) where body <> ''; create unique index notes_id on notes (id, body)`,
  );
  const unique = (name: string, columns: string): Said => [
    'warning shard:shard0 unique',
    `the unique index ${name} of notes (${columns}) has no tenant_id: two tenants collide on one shard and not on two, and a move can fail on it`,
    'make it unique for its tenant, (tenant_id, ...); what must be unique everywhere belongs on the control database',
  ];
  await expectDoctor(shardctl, { toml: at.fleet.toml }, [
    unique('notes_body', 'body'),
    unique('notes_lower', 'expression'),
    drift(
      'shard:shard1',
      'index public.notes_body (missing); index public.notes_id (missing); index public.notes_lower (missing); 1 more',
    ),
  ]);
});

it('names an index that a concurrent build has left invalid', async () => {
  await onBoth(`insert into notes (tenant_id, body) values ('a', 'x'), ('a', 'x')`);
  for (const place of [0, 1] as const) {
    await at.fleet
      .sql(place, 'create unique index concurrently notes_twice on notes (tenant_id, body)')
      .catch(() => undefined);
  }
  const invalid = (targets: string): Said => [
    `warning ${targets} indexes`,
    'the index notes_twice is invalid, left by a concurrent build that failed: it is written and never read, and what it should keep unique is not',
    'reindex index concurrently notes_twice, or drop it',
  ];
  await expectDoctor(shardctl, { toml: at.fleet.toml }, [invalid('shard:shard0,shard:shard1')]);
  await at.fleet.sql(1, 'drop index notes_twice');
  await expectDoctor(shardctl, { toml: at.fleet.toml }, [
    invalid('shard:shard0'),
    drift('shard:shard1', 'index public.notes_twice (missing)'),
  ]);
});

it('warns of sequences that can give out the same id on two shards', async () => {
  await at.fleet.sql(1, 'alter table notes alter id set increment by 1');
  const reason =
    'the sequence notes_id_seq (notes.id) gives out ids that it gives out on shard:shard0 too, so that rows cannot be moved with their ids';
  const remedy =
    'run shardctl migrate, which gives each shard a place of its own modulo 1024; a column that is no bigint, or counts down, has to be changed before';
  const drifted = drift('shard:shard1', 'sequence public.notes_id_seq (increment)');
  await expectDoctor(shardctl, { toml: at.fleet.toml }, [
    ['warning shard:shard1 sequences', reason, remedy],
    drifted,
  ]);
  const toml = `${at.fleet.toml}\n[migrations]\ninterleave_identities = false`;
  await expectDoctor(shardctl, { toml }, [
    drifted,
    ['info shard:shard1 sequences', reason, `set interleave_identities = true, and ${remedy}`],
  ]);
});

it('warns of a sequence that is not at the place of its shard', async () => {
  await at.fleet.sql(
    'control',
    `insert into _sharding_identities (shard_name, ordinal, stride) values ('shard0', 0, 1024), ('shard1', 5, 1024)`,
  );
  await expectDoctor(shardctl, { toml: at.fleet.toml }, [
    [
      'warning shard:shard1 sequences',
      'the sequence notes_id_seq (notes.id) does not give out the ids of its shard, 6 modulo 1024, so that those of another shard can be the same',
      'run shardctl migrate, which gives each shard a place of its own modulo 1024; a column that is no bigint, or counts down, has to be changed before',
    ],
  ]);
});

it('takes a table without the tenant column for reference data, unless it is told otherwise', async () => {
  await onBoth('create table cities (name text primary key)');
  await expectDoctor(shardctl, { toml: at.fleet.toml }, [
    [
      'info shard:shard0,shard:shard1 tenant-column',
      'the table cities has no column tenant_id: it is taken for reference data, which has the same rows on every shard',
      'nothing if it is; else add the column, and name the table with --sharded-table',
    ],
  ]);
  await at.fleet.sql(1, 'drop table cities');
  await expectDoctor(shardctl, { toml: at.fleet.toml, args: ['--sharded-table', 'cities', 'notes'] }, [
    [
      'error shard:shard1 tenant-column',
      'has no table cities',
      'run the migrations there, or see how the name is written (schema.table outside of the search_path)',
    ],
    [
      'error shard:shard0 tenant-column',
      'the table cities has no column tenant_id: whose its rows are is not known, so that no repository can filter and no move can take them',
      'add it: alter table cities add tenant_id ... not null',
    ],
    drift('shard:shard1', 'table public.cities (missing)'),
  ]);
});

it('knows the tenant by another column', async () => {
  await onBoth(
    'alter table notes rename tenant_id to account; alter table notes alter account drop not null',
  );
  await at.fleet.sql(1, 'alter table notes alter account set not null');
  await expectDoctor(shardctl, { toml: at.fleet.toml, args: ['--tenant-column', 'account'] }, [
    [
      'warning shard:shard0 tenant-column',
      'the table notes takes rows without account: nobody finds them, and no move takes them',
      'alter table notes alter account set not null',
    ],
    drift('shard:shard1', 'column public.notes.account (nullability)'),
  ]);
});

it('follows foreign keys', async () => {
  await onBoth(`
    create table cities (name text primary key);
    create table folders (id uuid primary key, tenant_id text not null, city text references cities,
      unique (tenant_id, id));
    create table shelves (folder uuid primary key references folders);
    alter table notes add folder uuid references folders, add foreign key (tenant_id, folder) references folders (tenant_id, id)`);
  const reference = (table: string): Said => [
    'info shard:shard0,shard:shard1 tenant-column',
    `the table ${table} has no column tenant_id: it is taken for reference data, which has the same rows on every shard`,
    'nothing if it is; else add the column, and name the table with --sharded-table',
  ];
  await expectDoctor(shardctl, { toml: at.fleet.toml }, [
    [
      'warning shard:shard0,shard:shard1 foreign-keys',
      'the foreign key notes_folder_fkey of notes compares no tenant_id: a row can refer to a row of another tenant, which a move would leave on another shard',
      'make it (tenant_id, ...) references ... (tenant_id, ...), over a unique index of these columns',
    ],
    [
      'warning shard:shard0,shard:shard1 foreign-keys',
      'the foreign key shelves_folder_fkey of shelves refers to the sharded table folders, and shelves is not sharded: its rows do not move with what they refer to',
      'give shelves the tenant column, or drop the foreign key',
    ],
    reference('cities'),
    reference('shelves'),
    [
      'info shard:shard0,shard:shard1 foreign-keys',
      'the foreign key folders_city_fkey of folders refers to cities, which is not sharded: the row has to be there on every shard, or the tenant cannot be moved to it',
      'keep cities the same on all shards',
    ],
  ]);
});
