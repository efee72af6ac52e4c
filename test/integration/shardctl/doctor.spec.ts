import { expect, it } from '@jest/globals';
import { FaultProxy, waitFor } from '@test/support';
import { countConnections } from '../../support/databases.js';
import { databaseOf } from '../../support/admin-query.js';
import { Shardctl } from '../../support/shardctl.js';
import { Doctored, fleetToml } from './doctor-fleet.js';
import { CHECKS, expectDoctor, type Said } from './doctor-says.js';

const shardctl = Shardctl.attach();
const at = Doctored.everyTest();

it('finds nothing in a healthy fleet, and says what it looked at', async () => {
  await expectDoctor(shardctl, { toml: at.fleet.toml }, []);
  expect(await shardctl.run(['doctor'], { toml: at.fleet.toml })).toEqual({
    code: 0,
    out: 'nothing found (20 checks, 3 databases)\n',
    err: '',
  });
});

it('leaves no connection behind, and nothing written', async () => {
  await shardctl.run(['doctor'], { toml: at.fleet.toml });
  const [shard] = at.fleet.shards;
  await waitFor(async () => (await countConnections(shard, databaseOf(shard))) === 1, { what: 'the end' });
});

it('names every problem of the configuration, and asks nobody', async () => {
  const toml = fleetToml(at.fleet, { database: 'pool_sise = 3\ndirectory_on_outage = "x"' });
  const remedy = 'correct the file, its profile, or the environment; no database was asked';
  await expectDoctor(shardctl, { toml, checks: ['configuration'], targets: [] }, [
    [
      'error configuration configuration',
      'database.pool_sise: unknown key; did you mean "pool_size"?',
      remedy,
    ],
    [
      'error configuration configuration',
      'database.directory_on_outage: must be one of the following values: serve_stale, fail',
      remedy,
    ],
  ]);
});

it('lets no dead shard hide what the others have', async () => {
  await at.fleet.sql(1, 'drop index notes_tenant_id');
  const urls = ['postgres://app:hush@127.0.0.1:1/gone', at.fleet.shards[1]] as const;
  await expectDoctor(shardctl, { toml: fleetToml(at.fleet, { urls }) }, [
    [
      'error shard:shard0 reachability',
      'cannot be reached: nothing listens there: is the server running? (ECONNREFUSED)',
      'see that the server runs and that this URL leads to it; nothing else of it was looked at',
    ],
    [
      'warning shard:shard1 tenant-index',
      'no index of the table notes begins with tenant_id: each read of a tenant, and each move, reads all rows',
      'create index concurrently on notes (tenant_id), with the columns behind it that you order or filter by',
    ],
  ]);
});

it('waits for a silent way no longer than it is told, and takes the other one', async () => {
  const proxy = await FaultProxy.start({ port: at.server.port });
  try {
    proxy.blackHole();
    const maintenance = `maintenance_url = "${proxy.url(at.fleet.shards[1])}"`;
    const toml = fleetToml(at.fleet, { shard: ['', maintenance] });
    await at.fleet.sql(0, 'drop index notes_tenant_id');
    await at.fleet.sql(1, 'drop index notes_tenant_id');
    await expectDoctor(shardctl, { toml, args: ['--timeout', '0.7'] }, [
      [
        'error shard:shard1 reachability',
        'cannot be reached by its maintenance_url: no answer within 700 ms (timeout)',
        'see that the server runs and that this URL leads to it; nothing else of it was looked at this way',
      ],
      [
        'warning shard:shard0,shard:shard1 tenant-index',
        'no index of the table notes begins with tenant_id: each read of a tenant, and each move, reads all rows',
        'create index concurrently on notes (tenant_id), with the columns behind it that you order or filter by',
      ],
    ]);
  } finally {
    await proxy.dispose();
  }
});

it('looks at one shard alone, without what compares shards', async () => {
  await at.fleet.sql(0, 'drop index notes_tenant_id');
  await at.fleet.sql('control', 'drop table _sharding_migrations');
  const left = ['same-database', 'connections', 'sequences', 'drift', 'slot-map', 'directory'];
  const checks = CHECKS.filter((name) => !left.includes(name));
  const asked = { toml: at.fleet.toml, checks, args: ['--shard', 'shard1'], targets: ['shard:shard1'] };
  await expectDoctor(shardctl, asked, []);
  expect(await shardctl.run(['doctor', '--shard', 'x'], { toml: at.fleet.toml })).toEqual({
    code: 1,
    out: '',
    err: 'shardctl: unknown shard "x"; known shards: shard0, shard1\n',
  });
});

it('knows a database under two names', async () => {
  const proxy = await FaultProxy.start({ port: at.server.port });
  try {
    const [url] = at.fleet.shards;
    await expectDoctor(shardctl, { toml: fleetToml(at.fleet, { urls: [url, proxy.url(url)] }) }, [
      [
        'error shard:shard1 same-database',
        'is the same database as shard:shard0, by another URL',
        'give each of them a database of its own, or take one of the two out of the configuration',
      ],
      [
        'warning shard:shard1 sequences',
        'the sequence notes_id_seq (notes.id) gives out ids that it gives out on shard:shard0 too, so that rows cannot be moved with their ids',
        'run shardctl migrate, which gives each shard a place of its own modulo 1024; a column that is no bigint, or counts down, has to be changed before',
      ],
    ]);
  } finally {
    await proxy.dispose();
  }
});

it('counts what one process may open', async () => {
  await expectDoctor(shardctl, { toml: fleetToml(at.fleet, { database: 'primary_pool_size = 32' }) }, [
    [
      'error control connections',
      'one process may open 102 connections to the server of control, shard:shard0, shard:shard1, which takes 97 (max_connections = 100, 3 reserved)',
      'make the pools smaller, or put a pooler in between',
    ],
    [
      'warning configuration connections',
      'one process may open 102 connections to all databases together; max_connections_warn_threshold is 100',
      'make the pools smaller, or raise the threshold if the machine can carry it',
    ],
  ]);
});

it('counts what all processes that run may open', async () => {
  await at.fleet.sql(
    'control',
    `insert into _sharding_processes (process_id, name, revision, lease_until)
      select gen_random_uuid(), 'web:' || n, 0, now() + interval '1 minute' from generate_series(1, 6) n`,
  );
  await expectDoctor(shardctl, { toml: at.fleet.toml }, [
    [
      'warning control connections',
      'the 6 processes that run may open 108 connections to the server of control, shard:shard0, shard:shard1, which takes 97 (max_connections = 100, 3 reserved)',
      'make the pools smaller, or put a pooler in between',
    ],
  ]);
});

it('counts what is open', async () => {
  const held = await at.server.holdConnections(89);
  try {
    const { code, out } = await shardctl.run(['doctor'], { toml: at.fleet.toml });
    expect({ code, out: out.replace(/\d+ connections are/, 'N connections are') }).toEqual({
      code: 1,
      out: [
        'warning  control: connections',
        '         N connections are open to the server of control, shard:shard0, shard:shard1, which takes 97 (max_connections = 100, 3 reserved)',
        '         -> make the pools smaller, or put a pooler in between',
        '',
        '1 warning (20 checks, 3 databases)',
        '',
      ].join('\n'),
    });
  } finally {
    await held.release();
  }
});

it('tells the shard whose encoding and order of text are others', async () => {
  const { server: postgres } = at;
  await postgres.query(
    `create database latin template template0 encoding 'LATIN1' locale_provider icu icu_locale 'de' locale 'C'`,
  );
  await postgres.query(
    `create table notes (id bigint generated by default as identity (start with 2 increment by 1024) primary key,
      tenant_id text not null, body text not null); create index notes_tenant_id on notes (tenant_id, id)`,
    [],
    'latin',
  );
  const toml = fleetToml(at.fleet, { urls: [at.fleet.shards[0], postgres.url('latin')] });
  const { code, out } = await shardctl.run(['doctor'], { toml });
  expect(code).toBe(1);
  expect(out).toContain(
    'has the encoding LATIN1, where most have UTF8: a text that one of them takes is refused by another',
  );
  expect(out).toContain(
    'has the collation de (icu), where most have C (libc): rows of several shards are in two',
  );
});

it('says what it could not look at', async () => {
  await at.server.query(`create role reader login password 'secret'`);
  const url = new URL(at.fleet.control);
  url.username = 'reader';
  const refused = (check: string, table: string): Said => [
    `warning control ${check}`,
    `could not be looked at: permission denied for table ${table} (42501)`,
    'give the role what it lacks, or try again when the server is less busy (--timeout)',
  ];
  await expectDoctor(shardctl, { toml: fleetToml({ control: url.href, shards: at.fleet.shards }) }, [
    refused('connections', '_sharding_processes'),
    refused('sequences', '_sharding_identities'),
    refused('slot-map', '_sharding_map'),
    refused('directory', '_sharding_revision'),
  ]);
});
