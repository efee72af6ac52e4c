import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@app/jobs';
import { expectNoConnections, waitFor } from '@test/support';
import { deployment } from '../../support/deployment.js';
import { bootJobs, untilCalled } from '../../integration/jobs/job-app.js';
import type { LoggerService } from '@nestjs/common';
import type { CronTick } from '@app/jobs';
import type { Deployment } from '../../support/deployment.js';
import type { JobApp } from '../../integration/jobs/job-app.js';

let databases: Deployment;
let booted: JobApp | undefined;
const warnings: string[] = [];
const nest: { logger: LoggerService } = {
  logger: {
    log: () => undefined,
    error: () => undefined,
    warn: (line: unknown) => void warnings.push(String(line)),
  },
};

beforeEach(async () => {
  databases = await deployment(1);
  warnings.length = 0;
});

afterEach(async () => {
  jest.restoreAllMocks();
  await booted?.app.close();
  booted = undefined;
  await expectNoConnections(databases.control);
});

const row = async (name: string) => {
  const sql = 'select state::text, retry_count as retries from pgboss.job where name = $1';
  return (await databases.query('control', sql, [name]))[0];
};

/** The handler's calls wait until they are let go, in their order. */
function gates({ handlers }: JobApp) {
  const open: ((error?: Error) => void)[] = [];
  handlers.work = () =>
    new Promise<void>((resolve, reject) => open.push((error) => (error ? reject(error) : resolve())));
  return open;
}

describe('a worker that has lost its lease', () => {
  it.each([undefined, new Error('late')])('cannot end the attempt of another one (%p)', async (error) => {
    booted = await bootJobs(databases.options(), {}, { nest });
    const { jobs, handlers } = booted;
    const open = gates(booted);
    await jobs.send('stubborn', 1);
    await untilCalled(handlers, 1);
    await databases.query(
      'control',
      `update pgboss.job set started_on = now() - interval '1 hour' where name = 'stubborn'`,
    );
    await untilCalled(handlers, 2);
    open[0]?.(error);
    const told = async () =>
      warnings.some((line) => line.includes('had lost its lease: attempt 1 counts for nothing'));
    await waitFor(told, { what: 'the worker to learn of it', timeoutMs: 15_000 });
    expect(await row('stubborn')).toEqual({ state: 'active', retries: 1 });
    expect(handlers.calls.map(({ job }) => job.attempt)).toEqual([1, 2]);
    open[1]?.();
    const completed = async () => (await row('stubborn'))?.['state'] === 'completed';
    await waitFor(completed, { what: 'the second attempt to end it', timeoutMs: 15_000 });
    expect(handlers.calls).toHaveLength(2);
  });

  it('is told by its signal, and what it sends to a database afterwards is refused', async () => {
    booted = await bootJobs(databases.options(), {}, { nest });
    const { jobs, handlers } = booted;
    const late: unknown[] = [];
    handlers.work = async ({ job }) => {
      if (job.attempt > 1) return;
      await new Promise((resolve) => job.signal.addEventListener('abort', resolve));
      late.push(await handlers.look().catch((error: unknown) => (error as { code: string }).code));
    };
    await jobs.send('brief', 1, { routingKey: 'acme' });
    await untilCalled(handlers, 2);
    await waitFor(async () => late.length > 0, { what: 'the late statement', timeoutMs: 15_000 });
    expect(late).toEqual(['deadline_exceeded']);
  });
});

describe('a process whose clock is wrong', () => {
  @Injectable()
  class Ticks {
    readonly due: string[] = [];

    @Cron('* * * * * *', { name: 'tick' })
    tick({ dueAt }: CronTick): void {
      this.due.push(dueAt);
    }
  }

  it.each([-3 * 3_600_000, 3 * 3_600_000])(
    'by %i ms runs jobs and crons by the clock of the server',
    async (skewMs) => {
      const now = Date.now.bind(Date);
      jest.spyOn(Date, 'now').mockImplementation(() => now() + skewMs);
      booted = await bootJobs(databases.options(), {}, { providers: [Ticks], nest });
      const { app, jobs, handlers } = booted;
      const began = now();
      await jobs.send('plain', 'in an hour', { startAfter: 3600 });
      await jobs.send('plain', 'now', { startAfter: 0 });
      await untilCalled(handlers, 1);
      const { due } = app.get(Ticks);
      await waitFor(async () => due.length >= 2, { what: 'two ticks', timeoutMs: 10_000 });
      expect(handlers.calls.map(({ payload }) => payload)).toEqual(['now']);
      expect(due).toEqual([...new Set(due)]);
      const [first = ''] = due;
      expect(Math.abs(Date.parse(first) - began)).toBeLessThan(20_000); // hours apart, were it the process's
    },
  );
});
