import { Inject, Injectable } from '@nestjs/common';
import { Job, Jobs, JobsModule } from '@app/jobs';
import { Shards } from '@app/sharding';
import { bootApp, Note } from '../../support/deployment.js';
import { waitFor } from '../../support/wait-for.js';
import type { INestApplication, NestApplicationOptions, Provider } from '@nestjs/common';
import type { JobContext, JobsOptions } from '@app/jobs';
import type { ShardingOptions } from '@app/sharding';

/** One call of a handler. */
export interface Call {
  readonly payload: unknown;
  readonly job: JobContext;
}

/** Handlers that note what they are called with, and do what the test says. */
@Injectable()
export class Handlers {
  readonly calls: Call[] = [];
  work: (call: Call) => unknown = () => undefined;

  constructor(@Inject(Shards) private readonly shards: Shards) {}

  /** One statement on the shard of the running job. */
  async look(): Promise<void> {
    const db = await this.shards.current();
    await db.query('select 1');
  }

  @Job('plain', { retry: { limit: 0 } })
  async plain(payload: unknown, job: JobContext): Promise<void> {
    this.calls.push({ payload, job });
    await this.work({ payload, job });
  }

  /** Failures are followed by two more attempts, at once. */
  @Job('stubborn', { retry: { limit: 2, delaySeconds: 0, backoff: 'fixed' }, concurrency: 2 })
  async stubborn(payload: unknown, job: JobContext): Promise<void> {
    await this.plain(payload, job);
  }

  @Job('brief', { retry: { limit: 1, delaySeconds: 0, backoff: 'fixed' }, leaseSeconds: 1, concurrency: 2 })
  async brief(payload: unknown, job: JobContext): Promise<void> {
    await this.plain(payload, job);
  }

  /** Adds a note of the tenant that it is routed by. */
  @Job('note', { routingKey: 'required', retry: { limit: 0 } })
  async note({ body }: { body: string }, job: JobContext): Promise<void> {
    const db = await this.shards.current();
    await db.getRepository(Note).insert({ tenantId: String(job.routingKey), body });
    await this.plain({ body }, job);
  }
}

/** Fast enough for a test. */
export const QUICK = { backend: 'postgres', pollIntervalMs: 50, maintenanceIntervalSeconds: 1 } as const;

/** An application with jobs. */
export interface JobApp {
  readonly app: INestApplication;
  readonly jobs: Jobs;
  readonly handlers: Handlers;
}

export async function bootJobs(
  sharding: ShardingOptions,
  options: Partial<JobsOptions> = {},
  parts: { readonly providers?: Provider[]; readonly nest?: NestApplicationOptions } = {},
): Promise<JobApp> {
  const imports = [JobsModule.forRoot({ ...QUICK, ...options })];
  const providers = [Handlers, ...(parts.providers ?? [])];
  const app = await bootApp(sharding, { imports, providers }, parts.nest);
  return { app, jobs: app.get(Jobs), handlers: app.get(Handlers) };
}

export async function untilCalled({ calls }: Handlers, count: number): Promise<void> {
  await waitFor(async () => calls.length >= count, { what: `${count} calls`, timeoutMs: 15_000 });
}
