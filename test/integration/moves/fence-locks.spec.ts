import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { installFence, raiseFence, removeIdleFences, waitForWriters } from '@app/sharding/operator';
import { PostgresServer, waitFor } from '@test/support';
import { installControl } from '../../support/control-database.js';
import { FenceShard, NOTES, order, outcomeOf, table } from './fence-shard.js';
import type pg from 'pg';

/** A server of its own: only there two-phase transactions are allowed. */
const tables = [table('notes'), table('events')];
const install = (limitMs: number) => installFence(shard.mover, tables, { keyKind: 'text', limitMs });
let server: PostgresServer;
let shard: FenceShard;
let writer: pg.Client;

beforeAll(async () => {
  server = await PostgresServer.start({ settings: { max_prepared_transactions: '5' } });
  const url = await server.createDatabase('fenced');
  await installControl(url);
  shard = await FenceShard.on(
    url,
    NOTES,
    'create table events (tenant_id text, at int) partition by range (at)',
    'create table events_1 partition of events for values from (0) to (10)',
  );
});

beforeEach(async () => {
  writer = await shard.connect();
  await writer.query('begin');
});

afterEach(async () => {
  await shard.rollback();
  await shard.query('delete from _sharding_fence');
});

afterAll(async () => {
  await shard.close();
  await server.dispose();
});

const pidOf = async (client: pg.Client) =>
  (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
const refused = (message: RegExp) =>
  expect.objectContaining({ code: 'move_refused', message: expect.stringMatching(message) });

describe('a long transaction that holds the table', () => {
  it('keeps the triggers away, and nobody else waits behind them', async () => {
    await writer.query(`insert into notes (tenant_id) values ('acme')`);
    let over = false;
    const failed = install(1500)
      .catch((error: unknown) => error)
      .finally(() => (over = true));
    const other = await shard.connect();
    let served = 0;
    for (; !over; served++) {
      await other.query(`select count(*) from notes`);
      await other.query(`insert into notes (tenant_id) values ('globex')`);
    }
    expect(await failed).toEqual(
      refused(
        new RegExp(
          `^table public.notes was not free within 1500 ms; its lock is held by pid ${await pidOf(writer)} for [\\d.]+ s$`,
        ),
      ),
    );
    expect(served).toBeGreaterThan(1);
  });

  it('is waited for, in small steps', async () => {
    await writer.query(`insert into events values ('acme', 1)`);
    const installing = install(20_000);
    const waits = `select from pg_stat_activity where wait_event_type = 'Lock' and query like 'create or replace trigger%'`;
    await waitFor(async () => (await shard.query(waits)).length > 0, { what: 'the trigger to wait' });
    await writer.query('commit');
    await installing;
    expect(await shard.outcome(`insert into events values ('acme', 1)`)).toBe('ok');
  });

  it('keeps the triggers there, also by reading', async () => {
    await install(5000);
    await writer.query('select from notes');
    await expect(removeIdleFences(shard.mover, { limitMs: 1 })).rejects.toEqual(
      refused(
        new RegExp(
          `^table public.notes was not free within 1 ms; its lock is held by pid ${await pidOf(writer)} for`,
        ),
      ),
    );
    await writer.query('commit');
    expect(await removeIdleFences(shard.mover)).toContain('public.notes');
    expect(await shard.guards()).toEqual([]);
  });

  it('is given up with the signal', async () => {
    await writer.query(`insert into notes (tenant_id) values ('acme')`);
    const signal = AbortSignal.timeout(50);
    const waiting = installFence(shard.mover, tables, { keyKind: 'text', signal });
    await expect(waiting).rejects.toMatchObject({ name: expect.stringMatching(/AbortError|TimeoutError/) });
    expect(await shard.guards()).toEqual([]);
  });
});

describe('waiting for writers', () => {
  it('names those that do not end', async () => {
    await writer.query(`insert into events_1 values ('acme', 1)`);
    const truncates = await shard.connect();
    await truncates.query('begin; truncate notes');
    const pids = [await pidOf(writer), await pidOf(truncates)];
    const error: unknown = await waitForWriters(shard.mover, tables, { limitMs: 30 }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toEqual(
      refused(/^transactions that write public.notes, public.events did not end within 30 ms: pid/),
    );
    for (const pid of pids) expect((error as Error).message).toMatch(new RegExp(`pid ${pid} for [\\d.]+ s`));
  });

  it('does not wait for readers, locks of rows, other tables and idle sessions', async () => {
    await shard.query('create table if not exists others (id int)');
    await writer.query('select from notes for update');
    await writer.query('select from events');
    await writer.query('insert into others values (1)');
    await waitForWriters(shard.mover, tables, { limitMs: 5000 });
  });

  it('does not wait for the next transactions of the same session', async () => {
    await writer.query(`insert into notes (tenant_id) values ('acme')`);
    const waiting = outcomeOf(waitForWriters(shard.mover, tables, { limitMs: 10_000 }));
    let over = false;
    void waiting.finally(() => (over = true));
    while (!over) await writer.query(`commit; begin; insert into notes (tenant_id) values ('globex')`);
    expect(await waiting).toBe('ok');
  });

  it('waits for prepared transactions, and those of them are refused that come later', async () => {
    await install(5000);
    await writer.query(`insert into notes (tenant_id) values ('acme'); prepare transaction 'two "phases"'`);
    await raiseFence(shard.mover, order({ keys: ['acme'] }), 60_000);
    await expect(waitForWriters(shard.mover, tables, { limitMs: 1 })).rejects.toEqual(
      refused(/did not end within 1 ms: prepared transaction "two \\"phases\\"" for [\d.]+ s$/),
    );
    const waiting = waitForWriters(shard.mover, tables, { limitMs: 10_000 });
    await writer.query(`commit prepared 'two "phases"'`);
    await waiting;
    expect(await outcomeOf(writer.query(`insert into notes (tenant_id) values ('acme')`))).toBe('SHM01');
  });
});
