import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CONTROL_DATA_SOURCE } from '@app/sharding';
import { waitFor } from '@test/support';
import { POOLERS, PooledDeployment } from '../../support/poolers.js';
import { bootJobs, untilCalled } from './job-app.js';
import type { DataSource } from 'typeorm';
import type { JobApp } from './job-app.js';

describe.each(POOLERS)('jobs behind %s in transaction mode', (_name, start) => {
  let place: PooledDeployment;
  let booted: JobApp;

  beforeAll(async () => {
    place = await PooledDeployment.start(start);
    booted = await bootJobs(place.options());
  });

  afterAll(async () => {
    await booted.app.close();
    await place.dispose();
  });

  it('make their tables, run, fail, die, and are sent in a transaction', async () => {
    const { app, jobs, handlers } = booted;
    handlers.work = ({ payload }) => {
      if (payload === 'fails') throw new Error('no');
    };
    await jobs.send('stubborn', 'fails');
    await app.get<DataSource>(CONTROL_DATA_SOURCE).transaction((tx) => jobs.sendInTx(tx, 'plain', 'in tx'));
    await untilCalled(handlers, 4);
    const dead = async () => (await jobs.deadLetters('stubborn')).length === 1;
    await waitFor(dead, { what: 'the dead letter', timeoutMs: 15_000 });
    const sql = `select name, state::text from pgboss.job order by 1`;
    expect(await place.databases.query('control', sql)).toEqual([
      { name: 'plain', state: 'completed' },
      { name: 'stubborn', state: 'failed' },
      { name: 'stubborn:dead', state: 'created' },
    ]);
  });

  it('are taken away from a worker whose lease has ended', async () => {
    const { jobs, handlers } = booted;
    handlers.calls.length = 0;
    let open: () => void = () => undefined;
    handlers.work = ({ job }) => job.attempt === 1 && new Promise<void>((resolve) => (open = resolve));
    await jobs.send('stubborn', 'late');
    await untilCalled(handlers, 1);
    const past = `update pgboss.job set started_on = now() - interval '1 hour' where state = 'active'`;
    await place.databases.query('control', past);
    await untilCalled(handlers, 2);
    open();
    expect(handlers.calls.map(({ job }) => job.attempt)).toEqual([1, 2]);
  });
});
