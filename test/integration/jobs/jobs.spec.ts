import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { CONTROL_DATA_SOURCE, Shards } from '@app/sharding';
import { deployment } from '../../support/deployment.js';
import { waitFor } from '../../support/wait-for.js';
import { bootJobs, untilCalled } from './job-app.js';
import type { DataSource } from 'typeorm';
import type { Deployment } from '../../support/deployment.js';
import type { JobApp } from './job-app.js';

let databases: Deployment;
const open: JobApp[] = [];

beforeAll(async () => {
  databases = await deployment(2);
});

afterEach(async () => {
  for (const { app } of open.splice(0)) await app.close();
  await databases.query('control', 'drop schema if exists pgboss cascade');
});

async function boot(
  ...[options, parts]: Parameters<typeof bootJobs> extends [unknown, ...infer R] ? R : never
) {
  const booted = await bootJobs(databases.options(), options, parts);
  open.push(booted);
  return booted;
}

const states = (name: string) =>
  databases.query(
    'control',
    'select state::text, retry_count as retries, output from pgboss.job where name = $1 order by created_on, id',
    [name],
  );

const untilState = (name: string, state: string) =>
  waitFor(async () => (await states(name)).some((row) => row['state'] === state), {
    what: `${name} to be ${state}`,
    timeoutMs: 15_000,
  });

describe('a job', () => {
  it('is run once with its payload', async () => {
    const { jobs, handlers } = await boot();
    const id = await jobs.send('plain', { a: [1, null, 'x'] });
    await untilCalled(handlers, 1);
    await untilState('plain', 'completed');
    expect(
      handlers.calls.map(({ payload, job }) => ({ payload, ...job, signal: job.signal.aborted })),
    ).toEqual([
      { payload: { a: [1, null, 'x'] }, id, name: 'plain', attempt: 1, routingKey: undefined, signal: false },
    ]);
    expect(await states('plain')).toEqual([{ state: 'completed', retries: 0, output: null }]);
  });

  it.each(['acme', 42, 9007199254740993n, Buffer.from([0, 255])])('is routed by its key: %p', async (key) => {
    const { jobs, handlers } = await boot();
    await jobs.send('plain', {}, { routingKey: key });
    await untilCalled(handlers, 1);
    expect(handlers.calls[0]?.job.routingKey).toEqual(key);
  });

  it('without a key is refused where the handler needs one, and so is a name that nobody has', async () => {
    const { jobs } = await boot({ work: 'off' });
    await expect(jobs.send('note', { body: 'x' })).rejects.toMatchObject({
      code: 'no_routing_key',
      message: 'job "note" needs a routing key: send(name, payload, { routingKey })',
    });
    await expect(jobs.send('nobody', {})).rejects.toMatchObject({
      code: 'invalid_options',
      message: 'no handler has the name "nobody"; known jobs: plain, stubborn, brief, note',
    });
    await expect(jobs.send('plain', 'x'.repeat(262_145))).rejects.toMatchObject({ code: 'invalid_options' });
    await expect(jobs.send('plain', 1n)).rejects.toMatchObject({ code: 'invalid_options' });
    await expect(jobs.send('plain', {}, { startAfter: -1 })).rejects.toMatchObject({
      code: 'invalid_options',
    });
  });

  it('waits until it is due by the clock of the server', async () => {
    const { jobs, handlers } = await boot();
    await jobs.send('plain', 'later', { startAfter: 3600 });
    await jobs.send('plain', 'tomorrow', { startAfter: new Date(Date.now() + 86_400_000) });
    await jobs.send('plain', 'now');
    await untilCalled(handlers, 1);
    await untilState('plain', 'completed');
    expect(handlers.calls.map(({ payload }) => payload)).toEqual(['now']);
    const [row] = await databases.query(
      'control',
      `select count(*)::int as count from pgboss.job where state = 'created'
        and start_after between now() + interval '59 minutes' and now() + interval '25 hours'`,
    );
    expect(row).toEqual({ count: 2 });
  });

  it('is taken once while the same waits, for each routing key', async () => {
    const { jobs } = await boot({ work: 'off' });
    const send = (routingKey: string) => jobs.send('plain', {}, { routingKey, singletonKey: 'reindex' });
    const sent = [await send('acme'), await send('acme'), await send('globex')];
    expect(sent).toEqual([expect.any(String), undefined, expect.any(String)]);
    expect(await jobs.send('plain', {})).toEqual(expect.any(String));
    expect(await jobs.send('plain', {})).toEqual(expect.any(String));
  });
});

describe('send', () => {
  it('inside of a transaction on a shard is refused: it would not be part of it', async () => {
    const { app, jobs } = await boot({ work: 'off' });
    const db = await app.get(Shards).dbFor('acme');
    await expect(db.tx(() => jobs.send('plain', 1))).rejects.toMatchObject({
      code: 'cross_shard_transaction',
    });
    expect(await states('plain')).toEqual([]);
  });
});

describe('a job that fails', () => {
  it('has more attempts, and is then a dead letter that can be queued again', async () => {
    const { jobs, handlers } = await boot();
    handlers.work = () => {
      throw Object.assign(new TypeError('row of acme'), { detail: 'secret' });
    };
    await jobs.send('stubborn', { n: 1 }, { routingKey: 'acme' });
    await untilState('stubborn:dead', 'created');
    expect(handlers.calls.map(({ job }) => job.attempt)).toEqual([1, 2, 3]);
    expect(await states('stubborn')).toEqual([
      { state: 'failed', retries: 2, output: { failure: 'TypeError' } },
    ]);
    const dead = await jobs.deadLetters('stubborn');
    expect(dead).toEqual([
      {
        id: expect.any(String),
        payload: { n: 1 },
        routingKey: 'acme',
        failure: 'TypeError',
        diedAt: expect.any(Date),
      },
    ]);
    handlers.work = () => undefined;
    expect(await jobs.requeue('stubborn', dead[0]!.id)).toEqual(expect.any(String));
    expect(await jobs.requeue('stubborn', dead[0]!.id)).toBeUndefined();
    await untilCalled(handlers, 4);
    await untilState('stubborn', 'completed');
    expect(handlers.calls[3]).toMatchObject({ payload: { n: 1 }, job: { attempt: 1, routingKey: 'acme' } });
    expect(await jobs.deadLetters('stubborn')).toEqual([]);
  });
});

describe('sendInTx', () => {
  it('sends with the transaction, and not without', async () => {
    const { app, jobs, handlers } = await boot();
    const control = app.get<DataSource>(CONTROL_DATA_SOURCE);
    const rolledBack = control.transaction(async (tx) => {
      await jobs.sendInTx(tx, 'plain', 'never');
      throw new Error('no');
    });
    await expect(rolledBack).rejects.toThrow('no');
    await control.transaction((tx) => jobs.sendInTx(tx, 'plain', 'committed'));
    await untilCalled(handlers, 1);
    await untilState('plain', 'completed');
    expect(handlers.calls.map(({ payload }) => payload)).toEqual(['committed']);
    expect(await states('plain')).toHaveLength(1);
  });

  it('refuses a manager that is no transaction', async () => {
    const { app, jobs } = await boot({ work: 'off' });
    const control = app.get<DataSource>(CONTROL_DATA_SOURCE);
    await expect(jobs.sendInTx(control.manager, 'plain', 1)).rejects.toMatchObject({
      code: 'invalid_options',
    });
  });
});
