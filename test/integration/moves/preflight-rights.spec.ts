import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { databaseOf, judging, movedTables, openPair, rowModeOf, type Pair } from './preflight-pair.js';

let pair: Pair;
let role: string;
beforeAll(async () => {
  pair = await openPair();
  role = `mover_${databaseOf(pair.urls.source)}`.slice(-60);
  await pair.run('source', `create role ${role}`);
});
afterAll(async () => {
  await pair.reset();
  await pair.run('source', `drop role ${role}`);
  await pair.close();
});
beforeEach(async () => {
  await pair.run('both', `reset role`);
  await pair.reset();
  await pair.run(
    'both',
    `grant usage on schema public to ${role}; create table t (id int primary key, tenant_id text)`,
  );
});

const judge = judging(() => pair);

async function asRole<T>(work: () => Promise<T>): Promise<T> {
  const clients = [pair.source.client, pair.destination.client];
  for (const client of clients) await client.query(`set role ${role}`);
  try {
    return await work();
  } finally {
    for (const client of clients) await client.query('reset role');
  }
}

describe('privileges', () => {
  it('that are missing are told', async () => {
    await pair.run('both', 'create table u (id int primary key, tenant_id text); alter table u add n serial');
    await pair.run('both', `grant select, delete on u to ${role}; grant insert on t to ${role}`);
    expect(await asRole(() => judge())).toEqual([
      'error privilege: public.t: the role lacks select, delete on shard0: grant it',
      'error privilege: public.t: the role lacks select, delete on shard1: grant it',
      'error privilege: public.u: the role is not the owner on shard0 and cannot fence it: log in as the owner, or as a member',
      'error privilege: public.u: the role lacks insert on shard1: grant it',
      'error privilege: public.u: the role is not the owner of public.u_n_seq on shard1 and cannot raise it: log in as the owner, or as a member',
    ]);
  });

  it('of the owner are enough', async () => {
    await pair.run('both', `alter table t add n serial; alter table t owner to ${role}`);
    expect(await asRole(() => judge())).toEqual([]);
  });

  it('of the schema are needed', async () => {
    await pair.run('both', `alter table t owner to ${role}`);
    await pair.run('destination', `revoke usage on schema public from ${role}, public`);
    expect(await asRole(() => judge())).toEqual([
      'error privilege: public.t: the role lacks usage on shard1: grant it',
    ]);
  });
});

it('row security that hides rows is told, also from the owner', async () => {
  await pair.run('both', `alter table t owner to ${role}; alter table t enable row level security`);
  expect(await asRole(() => judge())).toEqual([]);
  await pair.run('source', 'alter table t force row level security');
  expect(await judge()).toEqual([]);
  expect(await asRole(() => judge())).toEqual([
    'error row-security: public.t: row security hides rows from the role on shard0: move as a role with bypassrls, or as the owner without force row level security',
  ]);
});

describe('triggers', () => {
  const FUNCTION = `create function f() returns trigger language plpgsql as 'begin return null; end'`;
  const fires = (name: string, shard: string, remedy: string) =>
    `error trigger: public.t: the trigger "${name}" would fire on ${shard}: ${remedy}`;
  const MODE = 'move as a role that may set session_replication_role, or disable it meanwhile';
  const ALWAYS = 'let it fire on the origin only (alter table ... enable trigger), or disable it meanwhile';
  const modes = async () => {
    const tables = await movedTables(pair.source, { keyColumn: 'tenant_id' });
    return [
      await rowModeOf(pair.source, tables, 'source'),
      await rowModeOf(pair.destination, tables, 'destination'),
    ];
  };

  beforeEach(() => pair.run('both', `alter table t owner to ${role}; ${FUNCTION}`));

  it('that no move fires are nobody’s concern', async () => {
    await pair.run(
      'both',
      `create trigger a after update or truncate on t execute function f(); create trigger b after insert on t execute function f();
      alter table t disable trigger b; create function _sharding_fence_row() returns trigger language plpgsql as 'begin return null; end';
      create trigger e before insert on t execute function _sharding_fence_row();
      create trigger c after insert on t execute function f(); alter table t enable replica trigger c`,
    );
    await pair.run('source', 'create trigger d after insert on t execute function f()');
    expect(await asRole(() => judge())).toEqual([]);
    expect(await asRole(modes)).toEqual(['origin', 'origin']);
  });

  it('that would fire are told', async () => {
    await pair.run(
      'both',
      `create trigger "Out" after insert on t for each row execute function f(); create trigger log before delete on t for each row execute function f()`,
    );
    expect(await asRole(() => judge())).toEqual([
      fires('log', 'shard0', MODE),
      fires('Out", "log', 'shard1', MODE),
    ]);
    expect(await asRole(modes)).toEqual([undefined, undefined]);
  });

  it('do not fire where the role may say so', async () => {
    await pair.run('both', 'create trigger log before delete on t for each row execute function f()');
    expect(await judge()).toEqual([]);
    expect(await modes()).toEqual(['replica', 'replica']);
    await pair.run('source', `grant set on parameter session_replication_role to ${role}`);
    expect(await asRole(() => judge())).toEqual([]);
    expect(await asRole(modes)).toEqual(['replica', 'replica']);
    await pair.run('source', `revoke set on parameter session_replication_role from ${role}`);
  });

  it('that fire always are told, also those of a partition', async () => {
    await pair.run(
      'both',
      `drop table t; create table t (id int primary key, tenant_id text) partition by range (id); create table p partition of t default`,
    );
    await pair.run(
      'destination',
      'create trigger a before insert on p for each row execute function f(); alter table p enable always trigger a',
    );
    expect(await judge()).toEqual([fires('a', 'shard1', ALWAYS)]);
    expect(await modes()).toEqual(['origin', undefined]);
  });
});

describe('of the servers', () => {
  it('one database by two URLs is told, and nothing else is looked at', async () => {
    await pair.run('source', `insert into t values (1, 'acme')`);
    expect(
      await judge({ sessions: { destination: { ...pair.source, client: pair.admins.source } } }),
    ).toEqual([
      'error same-database: shard0 and shard1 are the same database, by two URLs: correct the configuration',
    ]);
  });

  it('one that is set read-only is told', async () => {
    const database = databaseOf(pair.urls.destination);
    await pair.run('destination', `alter database ${database} set default_transaction_read_only = on`);
    const session = await pair.again('destination');
    expect(await judge({ sessions: { destination: session } })).toEqual([
      'error server: shard1 is set read-only (default_transaction_read_only): look why, and reset it',
    ]);
  });
});
