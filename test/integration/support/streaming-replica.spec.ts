import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { PostgresServer, waitFor } from '@test/support';

let primary: PostgresServer;
let replica: PostgresServer;

beforeAll(async () => {
  primary = await PostgresServer.start();
  await primary.query('create table written (id int)');
  await primary.query('insert into written values (1)');
  replica = await primary.replica({ name: 'follower' });
});

afterAll(async () => {
  await replica.dispose();
  await primary.dispose();
});

const count = async (server: PostgresServer) =>
  (await server.query('select count(*)::int from written'))[0]?.['count'];
const untilCount = (server: PostgresServer, rows: number) =>
  waitFor(async () => (await count(server)) === rows, { what: `${rows} rows on ${server.name}` });

describe('a replica', () => {
  it('has what was there before and streams what comes', async () => {
    expect(await count(replica)).toBe(1);
    await primary.query('insert into written values (2)');
    await untilCount(replica, 2);
    const senders = await primary.query('select application_name, state from pg_stat_replication');
    expect(senders).toEqual([{ application_name: 'follower', state: 'streaming' }]);
  });

  it('is read-only', async () => {
    expect(await replica.query('select pg_is_in_recovery() as recovering')).toEqual([{ recovering: true }]);
    await expect(replica.query('insert into written values (3)')).rejects.toMatchObject({ code: '25006' });
  });

  it('follows again after its primary and it were killed', async () => {
    await primary.kill();
    await replica.kill();
    await primary.restart();
    await replica.restart();
    await primary.query('insert into written values (3)');
    await untilCount(replica, 3);
  });

  it('lags by recovery_min_apply_delay', async () => {
    const late = await primary.replica({ name: 'late', settings: { recovery_min_apply_delay: '700ms' } });
    try {
      const before = performance.now();
      await primary.query('insert into written values (4)');
      expect(await count(late)).toBe(3);
      await untilCount(late, 4);
      expect(performance.now() - before).toBeGreaterThan(690);
    } finally {
      await late.dispose();
    }
  });

  it('can be held and released with pg_wal_replay_pause()', async () => {
    await untilCount(replica, 4);
    await replica.query('select pg_wal_replay_pause()');
    await primary.query('insert into written values (5)');
    await waitFor(
      async () =>
        (await replica.query(`select from pg_stat_wal_receiver where flushed_lsn > pg_last_wal_replay_lsn()`))
          .length === 1,
      { what: 'the row to arrive without being applied' },
    );
    expect(await count(replica)).toBe(4);
    await replica.query('select pg_wal_replay_resume()');
    await untilCount(replica, 5);
  });
});
