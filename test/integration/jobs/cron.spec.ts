import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron } from '@app/jobs';
import { waitFor } from '@test/support';
import { deployment } from '../../support/deployment.js';
import { bootJobs } from './job-app.js';
import type { Type } from '@nestjs/common';
import type { CronTick } from '@app/jobs';
import type { Deployment } from '../../support/deployment.js';
import type { JobApp } from './job-app.js';

interface Daily {
  readonly due: string[];
}

let databases: Deployment;
const open: JobApp[] = [];

beforeAll(async () => {
  databases = await deployment(1);
});

afterEach(async () => {
  for (const { app } of open.splice(0)) await app.close();
});

/** A cron that is due every day at the time of a moment. */
function dailyAt(at: Date): Type<Daily> {
  @Injectable()
  class DailyCron implements Daily {
    readonly due: string[] = [];

    @Cron(`${at.getUTCMinutes()} ${at.getUTCHours()} * * *`, { name: 'daily' })
    run({ dueAt }: CronTick): void {
      this.due.push(dueAt);
    }
  }
  return DailyCron;
}

async function boot(cron: Type<Daily>): Promise<Daily> {
  const booted = await bootJobs(databases.options(), {}, { providers: [cron] });
  open.push(booted);
  await booted.jobs.send('plain', 1);
  return booted.app.get(cron);
}

const rows = () =>
  databases.query('control', `select data->'payload'->>'dueAt' as due from pgboss.job where name = 'daily'`);

it('a run that nobody was there for is made good once, and a new cron begins with its next one', async () => {
  const at = new Date(Date.now() - 10 * 60_000);
  at.setUTCSeconds(0, 0);
  const cron = dailyAt(at);
  const first = await boot(cron);
  const looked = async () =>
    (
      await databases.query(
        'control',
        `select 1 from pgboss.job where name = 'plain' and state = 'completed'`,
      )
    ).length > 0;
  await waitFor(looked, { what: 'the first process to work', timeoutMs: 15_000 });
  expect([first.due, await rows()]).toEqual([[], []]);
  await databases.query(
    'control',
    `update pgboss.queue set created_on = created_on - interval '1 day' where name = 'daily'`,
  );
  const [second, third] = await Promise.all([boot(cron), boot(cron)]);
  const ran = async () => second.due.length + third.due.length + first.due.length > 0;
  await waitFor(ran, { what: 'the run of ten minutes ago', timeoutMs: 15_000 });
  expect(await rows()).toEqual([{ due: at.toISOString() }]);
  expect([...first.due, ...second.due, ...third.due]).toEqual([at.toISOString()]);
});

it('a run that is more than an hour late is left out', async () => {
  await databases.query('control', 'drop schema pgboss cascade');
  const cron = dailyAt(new Date(Date.now() - 2 * 3_600_000));
  await boot(cron);
  await databases.query('control', `update pgboss.queue set created_on = created_on - interval '2 days'`);
  await boot(cron);
  const worked = async () =>
    (await databases.query('control', `select 1 from pgboss.job where state = 'completed'`)).length > 0;
  await waitFor(worked, { what: 'the second process to work', timeoutMs: 15_000 });
  expect(await rows()).toEqual([]);
});
