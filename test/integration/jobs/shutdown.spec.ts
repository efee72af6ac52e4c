import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { expectNoConnections } from '@test/support';
import { deployment } from '../../support/deployment.js';
import { bootJobs, untilCalled } from './job-app.js';
import type { Deployment } from '../../support/deployment.js';

let databases: Deployment;

beforeEach(async () => {
  databases = await deployment(1);
});

afterEach(() => expectNoConnections(databases.control));

const rows = () =>
  databases.query(
    'control',
    'select state::text, retry_count as retries, retry_limit as "limit" from pgboss.job',
  );

it('a shutdown waits for the job that runs, and takes no other', async () => {
  const { app, jobs, handlers } = await bootJobs(databases.options());
  let open: () => void = () => undefined;
  handlers.work = () => new Promise<void>((resolve) => (open = resolve));
  await jobs.send('plain', 1);
  await jobs.send('plain', 2);
  await untilCalled(handlers, 1);
  const closing = app.close();
  open();
  await closing;
  expect(handlers.calls).toHaveLength(1);
  expect(await rows()).toEqual(
    expect.arrayContaining([
      { state: 'completed', retries: 0, limit: 0 },
      { state: 'created', retries: 0, limit: 0 },
    ]),
  );
});

it('gives a job back that does not end in time: it runs at once elsewhere, and no attempt is lost', async () => {
  const { app, jobs, handlers } = await bootJobs(databases.options(), { stopTimeoutMs: 100 });
  handlers.work = ({ job }) =>
    new Promise((_resolve, reject) =>
      job.signal.addEventListener('abort', () => reject(new Error('told to stop'))),
    );
  await jobs.send('plain', 1);
  await untilCalled(handlers, 1);
  await app.close();
  expect(await rows()).toEqual([{ state: 'retry', retries: 0, limit: 1 }]);
  const next = await bootJobs(databases.options());
  await untilCalled(next.handlers, 1);
  expect(next.handlers.calls[0]).toMatchObject({ payload: 1, job: { attempt: 2 } });
  await next.app.close();
  expect(await rows()).toEqual([{ state: 'completed', retries: 1, limit: 1 }]);
});

it('sends nothing after it', async () => {
  const { app, jobs } = await bootJobs(databases.options());
  await app.close();
  await expect(jobs.send('plain', 1)).rejects.toMatchObject({ code: 'aborted' });
});
