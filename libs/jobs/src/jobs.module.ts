import { Module } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { CONTROL_DATA_SOURCE, ControlPools, Shards } from '@app/sharding';
import { JobHandlers } from './job-handlers.js';
import { JobQueue } from './job-queue.js';
import { JobRuntime } from './job-runtime.js';
import { Jobs } from './jobs.js';
import { JOBS_SETTINGS, resolveJobsOptions } from './jobs.options.js';
import { loadPgBoss } from './load-pg-boss.js';
import type {
  DynamicModule,
  FactoryProvider,
  InjectionToken,
  ModuleMetadata,
  Provider,
} from '@nestjs/common';
import type { DataSource } from 'typeorm';
import type { JobsOptions, JobsSettings } from './jobs.options.js';

/** `forRootAsync`. */
export interface JobsAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  readonly useFactory: (...parts: never[]) => JobsOptions | Promise<JobsOptions>;
  readonly inject?: InjectionToken[];
}

/**
 * Jobs and crons on the control database. Needs `ShardingModule`, and the package `pg-boss`. Global; imported once an
 * application.
 */
@Module({})
export class JobsModule {
  /** @throws ShardingError `invalid_options`, at boot `invalid_topology` without a control database */
  static forRoot(options: JobsOptions): DynamicModule {
    const settings = resolveJobsOptions(options);
    return jobsModule({ provide: JOBS_SETTINGS, useValue: settings });
  }

  static forRootAsync({ imports = [], inject = [], useFactory }: JobsAsyncOptions): DynamicModule {
    const factory = async (...parts: never[]) => resolveJobsOptions(await useFactory(...parts));
    return jobsModule({ provide: JOBS_SETTINGS, inject, useFactory: factory }, imports);
  }
}

function jobsModule(settings: Provider, imports: ModuleMetadata['imports'] = []): DynamicModule {
  return {
    module: JobsModule,
    global: true,
    imports: [DiscoveryModule, ...imports],
    providers: [settings, ...providers()],
    exports: [Jobs],
  };
}

function providers(): FactoryProvider[] {
  return [
    {
      provide: JobHandlers,
      inject: [DiscoveryService],
      useFactory: (discovery: DiscoveryService) => new JobHandlers(discovery),
    },
    {
      provide: JobQueue,
      inject: [JOBS_SETTINGS, ControlPools, JobHandlers],
      useFactory: async (settings: JobsSettings, pools: ControlPools, handlers: JobHandlers) => {
        const PgBoss = await loadPgBoss();
        return new JobQueue({ pool: pools.open('jobs', settings.poolSize), settings, handlers, PgBoss });
      },
    },
    {
      provide: JobRuntime,
      inject: [JobQueue, JobHandlers, Shards, JOBS_SETTINGS],
      useFactory: (...[queue, handlers, shards, settings]: [JobQueue, JobHandlers, Shards, JobsSettings]) =>
        new JobRuntime({ queue, handlers, shards, settings }),
    },
    {
      provide: Jobs,
      inject: [JobQueue, JobHandlers, CONTROL_DATA_SOURCE, JobRuntime],
      useFactory: (...[queue, handlers, control, runtime]: [JobQueue, JobHandlers, DataSource, JobRuntime]) =>
        new Jobs({ queue, handlers, control, wake: (name) => runtime.wake(name) }),
    },
  ];
}
