import { beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { Shards, type ShardDb } from '@app/sharding';
import { waitFor } from '@test/support';
import { bootApp, deployment, type Deployment } from '../../support/deployment.js';
import { TransactionPlace } from './transaction-place.js';

const place = TransactionPlace.forFile();
const { insert, bodies, poolIsQuiet } = place;
let databases: Deployment;
let db: ShardDb;

beforeAll(() => void ({ databases, db } = place));

it.each([
  'commit',
  ' COMMIT',
  '/* a */ rollback',
  '-- a\ncommit',
  ';commit',
  'select 1; commit',
  "select ';'; end",
  'begin',
  'start transaction',
  'abort',
  'end',
  "prepare transaction 'a'",
])('%s from the user is refused', async (sql) => {
  const work = db.tx(async (tx) => {
    await insert(tx, 'one');
    await tx.query(sql);
  });
  await expect(work).rejects.toMatchObject({ code: 'invalid_options' });
  expect(await bodies()).toEqual([]);
});

it('savepoints of the user are his own', async () => {
  await db.tx(async (tx) => {
    await tx.query('savepoint mine');
    await tx.query('select 1/0').catch(() => undefined);
    await tx.query('  rollback to mine');
    await insert(tx, 'kept');
  });
  expect(await bodies()).toEqual(['kept']);
});

it('a shard of the same name in another application is another shard', async () => {
  const elsewhere = await deployment(1);
  const other = await bootApp(elsewhere.options());
  const foreign = await other.get(Shards).dbOn('shard0');
  const work = db.tx(async () => insert(foreign, 'stray'));
  await expect(work).rejects.toMatchObject({ code: 'cross_shard_transaction' });
  await other.close();
});

describe('a connection that is lost inside a tx', () => {
  const terminate = () =>
    databases.query(
      0,
      `select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and state = 'idle in transaction'`,
    );
  const idleInTransaction = async (tx: ShardDb) => {
    await insert(tx, 'lost');
    await terminate();
    await pause(50); // the news of the loss reaches the client
  };

  it('is shard_unavailable for the next statement', async () => {
    const work = db.tx(async (tx) => {
      await idleInTransaction(tx);
      await tx.query('select 1');
    });
    await expect(work).rejects.toMatchObject({ code: 'shard_unavailable' });
  });

  it('is shard_unavailable, not an unknown commit, when no commit was sent', async () => {
    await expect(db.tx(idleInTransaction)).rejects.toMatchObject({ code: 'shard_unavailable' });
    expect(await bodies()).toEqual([]);
    await poolIsQuiet();
  });

  it('during the commit is commit_unknown', async () => {
    await databases.query(0, SLOW_COMMIT);
    const work = db.tx((tx) => tx.query(`insert into slow_commits values (1)`));
    work.catch(() => undefined);
    const committing = `select pg_terminate_backend(pid) from pg_stat_activity where query = 'COMMIT' and state = 'active'`;
    await waitFor(async () => (await databases.query(0, committing)).length === 1, {
      what: 'the commit to be cut',
    });
    await expect(work).rejects.toMatchObject({ code: 'commit_unknown', retryable: false });
    await poolIsQuiet();
  });

  it('a commit that is cancelled at the deadline is not one', async () => {
    const work = db.tx((tx) => tx.query(`insert into slow_commits values (2)`), { timeoutMs: 150 });
    await expect(work).rejects.toMatchObject({ code: 'deadline_exceeded' });
    expect(await databases.query(0, 'select * from slow_commits')).toEqual([]);
    await poolIsQuiet();
  });
});

/** A deferred constraint trigger makes COMMIT take two seconds. */
const SLOW_COMMIT = `
  create table slow_commits (id int);
  create function be_slow() returns trigger language plpgsql as $$ begin perform pg_sleep(2); return null; end $$;
  create constraint trigger slow after insert on slow_commits deferrable initially deferred
    for each row execute function be_slow()`;

it('a nested tx is given up also while its savepoint is being set', async () => {
  const never = () => new Promise<never>(() => undefined);
  const work = db.tx((tx) => Promise.all([tx.tx(never), Promise.reject(new Error('mine'))]), {
    timeoutMs: 5000,
  });
  await expect(work).rejects.toThrow('mine');
  await poolIsQuiet();
});
