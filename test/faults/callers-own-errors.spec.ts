import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Shards } from '@app/sharding';
import { waitFor } from '@test/support';
import { withClient } from '../support/admin-query.js';
import { ILL, NotesFleet, WELL } from '../support/notes-fleet.js';
import type { ShardDb } from '@app/sharding';

/** What goes wrong on a server that is well is not an outage: nothing is unavailable, health stays up. */
let fleet: NotesFleet;
let db: ShardDb;

beforeAll(async () => {
  fleet = await NotesFleet.start();
  db = await fleet.app.get(Shards).dbOn('shard1');
});

afterAll(() => fleet.dispose());

async function nothingIsWrong(): Promise<void> {
  await fleet.untilIdle();
  expect(await fleet.health()).toMatchObject({ status: 200, down: [] });
  expect(await fleet.call(WELL)).toMatchObject({ status: 200 });
  expect(await fleet.write(ILL, 'next')).toMatchObject({ status: 201 });
}

it('a lock that another session holds is waited for as long as tx({ timeoutMs }) says', async () => {
  await withClient(fleet.server.url('notes'), async (other) => {
    await other.query('begin');
    await other.query('lock table notes in access exclusive mode');
    const began = performance.now();
    const waiting = db.tx((tx) => tx.query('select count(*) from notes'), { timeoutMs: 500 });
    await expect(waiting).rejects.toMatchObject({ code: 'deadline_exceeded', status: 504 });
    expect(performance.now() - began).toBeLessThan(500 + 2000);
    const waits = `select 1 from pg_locks where not granted`;
    await waitFor(async () => (await other.query(waits)).rowCount === 0, {
      what: 'the wait to end on the server',
    });
    await other.query('rollback');
  });
  await nothingIsWrong();
});

it("lock_timeout of the caller is the caller's error (55P03)", async () => {
  await withClient(fleet.server.url('notes'), async (other) => {
    await other.query('begin');
    await other.query('lock table notes in access exclusive mode');
    const waiting = db.tx(async (tx) => {
      await tx.query(`set local lock_timeout = '100ms'`);
      await tx.query('select count(*) from notes');
    });
    await expect(waiting).rejects.toMatchObject({ name: 'QueryFailedError', driverError: { code: '55P03' } });
    await other.query('rollback');
  });
  await nothingIsWrong();
});

it("temp_file_limit is the caller's error (53400)", async () => {
  const sorting = db.tx(async (tx) => {
    await tx.query(`set local temp_file_limit = '1MB'`);
    await tx.query(`set local work_mem = '64kB'`);
    await tx.query('select md5(i::text) from generate_series(1, 200000) as i order by 1');
  });
  await expect(sorting).rejects.toMatchObject({ name: 'QueryFailedError', driverError: { code: '53400' } });
  await nothingIsWrong();
});
