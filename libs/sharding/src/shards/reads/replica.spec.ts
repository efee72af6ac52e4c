import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Replica } from './replica.js';
import type { Database } from '../database.js';

type Answer = () => Promise<object[]>;
const SILENT: Answer = () => new Promise(() => undefined);
const fails = (code?: string) => async () =>
  Promise.reject(Object.assign(new Error('connect'), code && { code }));

/** What one server says to each question; a question that is not answered in time ends as in `StandingConnection`. */
class Server {
  migrations: Answer = async () => [{ name: 'First1' }];
  position: Answer = async () => [{ lsn: '0/100', byte: 256, page: 8192 }];
  replayed: Answer = async () => [{ recovering: true, lsn: '0/100', age: 5 }];
  readonly asked: string[] = [];
  readonly failures: unknown[] = [];
  discarded = 0;

  readonly database = {
    standing: () => ({
      query: (sql: string, limitMs: number) => this.#ask(sql, limitMs),
      drop: () => undefined,
    }),
    noteFailure: (error: unknown) => this.failures.push(error),
    noteProbe: () => undefined,
    discard: async () => void this.discarded++,
  } as unknown as Database;

  comparisons(): number {
    return this.asked.filter((sql) => /from "migrations"/.test(sql)).length;
  }

  #ask(sql: string, limitMs: number): Promise<object[]> {
    this.asked.push(sql);
    const late = new Promise<never>((_resolve, reject) =>
      setTimeout(() => reject(new Error('timeout expired')), limitMs),
    );
    late.catch(() => undefined);
    return Promise.race([this.#answer(sql)(), late]);
  }

  #answer(sql: string): Answer {
    if (sql.includes('from "migrations"')) return this.migrations;
    if (sql.includes('pg_current_wal_insert_lsn')) return this.position;
    if (sql.includes('pg_is_in_recovery')) return this.replayed;
    if (sql.includes('current_database')) return async () => [{ database: 'shard0' }];
    return async () => [{ system: '7' }];
  }
}

let primary: Server;
let server: Server;
let replica: Replica;

beforeEach(() => {
  jest.useFakeTimers();
  [primary, server] = [new Server(), new Server()];
  replica = new Replica({
    database: server.database,
    primary: primary.database,
    settings: { database: {} as never, fallback: 'primary', maxLagMs: 0 },
    migrationsTable: { name: 'migrations' },
  });
});

afterEach(() => {
  jest.useRealTimers();
});

async function probe(): Promise<void> {
  const step = replica.probe();
  await jest.advanceTimersByTimeAsync(10_000);
  await step;
}

it('is not ready before a probe, and is after one', async () => {
  expect(replica.status()).toEqual({
    ready: false,
    detail: 'replica has not passed a readiness check',
    lagMs: undefined,
  });
  await probe();
  expect(replica.status()).toEqual({ ready: true, detail: 'streaming', lagMs: 0 });
});

describe('the comparison of migrations', () => {
  it('is made at the first probe, then once a minute while it is ready', async () => {
    for (let time = 0; time < 18; time++) await probe(); // one every 10 s
    expect(server.comparisons()).toBe(3);
    expect(primary.comparisons()).toBe(3);
  });

  it('is made at each probe while it is not, and finds a migration that came late', async () => {
    primary.migrations = async () => [{ name: 'First1' }, { name: 'Second2' }];
    for (let time = 1; time <= 5; time++) {
      await probe();
      expect(replica.status()).toMatchObject({ ready: false, detail: 'lacks migration Second2' });
      expect(server.comparisons()).toBe(time);
    }
    server.migrations = primary.migrations;
    await probe();
    expect(replica.ready).toBe(true);
  });

  it('finds within a minute that the primary has a new one', async () => {
    await probe();
    primary.migrations = async () => [{ name: 'First1' }, { name: 'Second2' }];
    for (let time = 0; time < 6; time++) await probe();
    expect(replica.status()).toMatchObject({ ready: false, detail: 'lacks migration Second2' });
  });

  it('that takes more than 5 s, on either side, counts as not ready', async () => {
    for (const silent of [primary, server]) {
      silent.migrations = SILENT;
      await probe();
      expect(replica.status().ready).toBe(false);
      expect(replica.status().detail).toMatch(/^could not be compared with its primary within 5000 ms/);
      silent.migrations = async () => [{ name: 'First1' }];
      await probe();
      expect(replica.ready).toBe(true);
      await jest.advanceTimersByTimeAsync(60_000);
    }
  });

  it.each([
    ['is certainly down', 'ECONNREFUSED', true],
    ['has ended the session', '57P01', true],
    ['does not answer in time', undefined, false],
    ['refuses to tell', '42501', false],
    ['gives the statement up', '57014', false],
  ])('with a primary that %s (%s): the verdict of before stands: %s', async (_what, code, ready) => {
    await probe();
    primary.migrations = code === undefined ? SILENT : fails(code);
    for (let time = 0; time < 7; time++) await probe();
    expect(replica.ready).toBe(ready);
  });

  it('with a primary that was never seen is not ready', async () => {
    primary.migrations = fails('ECONNREFUSED');
    await probe();
    expect(replica.ready).toBe(false);
  });
});

describe('a replica that fails', () => {
  it('is given up after two probes, once, and the reads on it are ended', async () => {
    await probe();
    server.replayed = SILENT;
    await probe();
    expect([replica.ready, server.discarded]).toEqual([false, 0]);
    await probe();
    await probe();
    await probe();
    expect(server.discarded).toBe(1);
    expect(server.failures).toHaveLength(4);
    server.replayed = async () => [{ recovering: true, lsn: '0/100', age: 5 }];
    await probe();
    expect(replica.ready).toBe(true);
    server.replayed = SILENT;
    await probe();
    await probe();
    expect(server.discarded).toBe(2);
  });

  it('that became a primary answers: it is no outage, and not used', async () => {
    await probe();
    server.replayed = async () => [{ recovering: false, lsn: null, age: null }];
    for (let time = 0; time < 5; time++) await probe();
    expect(replica.status()).toMatchObject({
      ready: false,
      detail: 'is not a replica any more: it is not in recovery',
    });
    expect(server.failures).toEqual([]);
    expect(server.discarded).toBe(0);
  });

  it('in a read is not ready until a probe has seen it, which is asked for', async () => {
    await probe();
    let suspicions = 0;
    replica.onSuspicion = () => suspicions++;
    replica.suspect(Object.assign(new Error('gone'), { code: 'ECONNRESET' }));
    expect([suspicions, replica.status().ready, replica.status().detail]).toEqual([1, false, 'ECONNRESET']);
    await probe();
    expect(replica.ready).toBe(true);
  });
});

it('a primary that is silent does not hold up the probe of its replica for long', async () => {
  await probe();
  primary.position = SILENT;
  const step = replica.probe();
  await jest.advanceTimersByTimeAsync(750);
  await step;
  expect(replica.ready).toBe(true);
});

it('is behind a position it has not replayed, and waits for it no longer than is said', async () => {
  await probe();
  expect(replica.hasReplayed(0x100n)).toBe(true);
  expect(replica.hasReplayed(0x101n)).toBe(false);
  expect(await replica.reaches(0x100n, 0)).toBe(true);
  expect(await replica.reaches(0x101n, 0)).toBe(false);
  const waiting = replica.reaches(0x101n, 100);
  server.replayed = async () => [{ recovering: true, lsn: '0/101', age: 5 }];
  await jest.advanceTimersByTimeAsync(50);
  expect(await waiting).toBe(true);
});
