import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Inject, Injectable, Scope } from '@nestjs/common';
import { REQUEST } from '@nestjs/core';
import { Cron, Job, Jobs, JobsModule } from '@app/jobs';
import { expectNoConnections, waitFor } from '@test/support';
import { bootApp, deployment } from '../../support/deployment.js';
import { bootJobs, Handlers, QUICK, untilCalled } from './job-app.js';
import type { INestApplication } from '@nestjs/common';
import type { JobsOptions } from '@app/jobs';
import type { Deployment } from '../../support/deployment.js';

let databases: Deployment;
const open: INestApplication[] = [];

beforeAll(async () => {
  databases = await deployment(1);
});

beforeEach(() => databases.query('control', 'drop schema if exists pgboss cascade'));

afterEach(async () => {
  for (const app of open.splice(0)) await app.close();
  await expectNoConnections(databases.control);
});

async function boot(options: Partial<JobsOptions> = {}) {
  const booted = await bootJobs(databases.options(), options);
  open.push(booted.app);
  return booted;
}

describe('a boot with jobs', () => {
  it('is refused without a control database', async () => {
    const { database, ...rest } = databases.options();
    const sharding = { ...rest, database: { ...database, primaryUrl: undefined } } as never;
    await expect(bootJobs(sharding)).rejects.toMatchObject({
      code: 'invalid_topology',
      message: expect.stringContaining('jobs need a control database: set [database] primary_url'),
    });
  });

  it('makes the tables once where several processes boot at once, and finds them the next time', async () => {
    const apps = await Promise.all([boot(), boot(), boot()]);
    await boot({ createSchema: 'off' });
    await apps[0].jobs.send('plain', 'one');
    const called = () => apps.flatMap(({ handlers }) => handlers.calls);
    await waitFor(async () => called().length > 0, { what: 'a call', timeoutMs: 15_000 });
    expect(called()).toHaveLength(1);
    const [schema] = await databases.query('control', 'select count(*)::int as versions from pgboss.version');
    expect(schema).toEqual({ versions: 1 });
  });

  it('is refused where the tables are missing and may not be made', async () => {
    await expect(bootJobs(databases.options(), { createSchema: 'off' })).rejects.toMatchObject({
      code: 'migrations_pending',
      message: expect.stringContaining('in schema "pgboss" of the control database are missing or old'),
    });
  });

  it('takes its options from a factory, and another schema', async () => {
    const imports = [JobsModule.forRootAsync({ useFactory: async () => ({ ...QUICK, schema: 'work' }) })];
    const app = await bootApp(databases.options(), { imports, providers: [Handlers] });
    open.push(app);
    await app.get(Jobs).send('plain', 1);
    await untilCalled(app.get(Handlers), 1);
    await databases.query('control', 'drop schema work cascade');
  });

  it('works with one database that is control and shard at once', async () => {
    const { entities, tenancy } = databases.options();
    const booted = await bootJobs({ entities, tenancy, database: { primaryUrl: databases.control } });
    open.push(booted.app);
    await booted.jobs.send('plain', 1, { routingKey: 'acme' });
    await untilCalled(booted.handlers, 1);
  });

  it('counts the pool of the jobs among its connections', async () => {
    const lines: string[] = [];
    const logger = { log: (line: unknown) => void lines.push(String(line)), warn: () => 0, error: () => 0 };
    const { app } = await bootJobs(databases.options(), { poolSize: 7 }, { nest: { logger } });
    open.push(app);
    open.push(await bootApp(databases.options(), {}, { logger }));
    const totals = lines
      .flatMap((line) => /total_max_connections[= ]+(\d+)/.exec(line)?.[1] ?? [])
      .map(Number);
    expect(totals).toHaveLength(2);
    expect(totals[0]! - totals[1]!).toBe(7 + 2); // and a probe and a canceller
  });
});

@Injectable()
class Twice {
  @Job('plain')
  first(): void {}
}

@Injectable({ scope: Scope.REQUEST })
class Scoped {
  constructor(@Inject(REQUEST) readonly request: unknown) {}

  @Job('scoped')
  run(): void {}
}

@Injectable()
class Wrong {
  @Job('a b', { leaseSeconds: 0, concurrency: 101, retry: { limit: -1, delaySeconds: 0.5 } })
  bad(): void {}

  @Cron('every day', { name: 'cron' })
  cron(): void {}

  @Cron('0 3 * * *', { name: 'zone', timeZone: 'Nowhere/At_All' })
  zone(): void {}
}

describe('handlers that cannot be', () => {
  it('fail the boot, all at once', async () => {
    await expect(
      bootJobs(databases.options(), {}, { providers: [Twice, Scoped, Wrong] }),
    ).rejects.toMatchObject({
      code: 'invalid_options',
      message: [
        'the jobs have problems:',
        'two handlers have the name "plain"',
        '"scoped" is a method of a request-scoped provider: make it a singleton',
        '"a b": a name is up to 100 letters, digits, -, _ and .',
        '"a b": retry.limit is a whole number from 0 to 100',
        '"a b": retry.delaySeconds is a whole number from 0 to 86400',
        '"a b": leaseSeconds is a whole number from 1 to 86399',
        '"a b": concurrency is a whole number from 1 to 100',
        '"cron": "every day" in "UTC" is no cron expression',
        '"zone": "0 3 * * *" in "Nowhere/At_All" is no cron expression',
      ].join('\n  - '),
    });
  });

  it('and so do options out of range', () => {
    const wrong = { backend: 'redis', schema: 'A', poolSize: 0, pollIntervalMs: 1, other: 1 } as never;
    expect(() => JobsModule.forRoot(wrong)).toThrow(
      [
        'JobsModule has problems:',
        'unknown option "other"',
        'backend is one of postgres',
        'poolSize is a whole number from 1 to 20',
        'pollIntervalMs is a whole number from 50 to 60000',
        'schema is a name of up to 50 small letters, digits and _',
      ].join('\n  - '),
    );
  });
});
