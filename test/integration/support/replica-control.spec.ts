import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PostgresServer, waitFor } from '@test/support';

let primary: PostgresServer;
let replica: PostgresServer;

beforeAll(async () => {
  primary = await PostgresServer.start();
  await primary.query('create table written (id int)');
  replica = await primary.replica();
});

afterAll(async () => {
  await replica.dispose();
  await primary.dispose();
});

const count = async () => (await replica.query('select count(*)::int from written'))[0]?.['count'];
const untilCount = (rows: number) =>
  waitFor(async () => (await count()) === rows, { what: `${rows} rows on the replica` });

describe('a replica under control', () => {
  it('applies nothing while its replay is paused', async () => {
    await primary.query('insert into written values (1)');
    await untilCount(1);
    await replica.pauseReplay();
    await primary.query('insert into written values (2)');
    await waitFor(
      async () =>
        (await replica.query(`select from pg_stat_wal_receiver where flushed_lsn > pg_last_wal_replay_lsn()`))
          .length === 1,
      { what: 'the row to arrive without being applied' },
    );
    expect(await count()).toBe(1);
    await replica.resumeReplay();
    await untilCount(2);
  });

  it('applies late while it is delayed, without a restart', async () => {
    await replica.setApplyDelay(600);
    const began = performance.now();
    await primary.query('insert into written values (3)');
    await untilCount(3);
    expect(performance.now() - began).toBeGreaterThan(590);
    await replica.setApplyDelay(0);
    await primary.query('insert into written values (4)');
    await untilCount(4);
  });

  it('becomes a primary that takes writes', async () => {
    await replica.promote();
    await replica.query('insert into written values (5)');
    expect(await replica.query('select pg_is_in_recovery() as recovering')).toEqual([{ recovering: false }]);
    await untilCount(5);
  });
});
