import { ShardingError } from '@app/routing';

export const JOB_BACKENDS = ['postgres'] as const;

/** What `JobsModule.forRoot` takes. */
export interface JobsOptions {
  /** Where jobs are kept: tables of pg-boss on the control database. */
  readonly backend: (typeof JOB_BACKENDS)[number];
  /** PostgreSQL schema of the tables. Default `pgboss`. */
  readonly schema?: string;
  /** `on` (default): the boot makes and upgrades the tables; `off`: it fails where they are missing. */
  readonly createSchema?: 'on' | 'off';
  /** `off`: this process sends jobs and runs none. Default `on`. */
  readonly work?: 'on' | 'off';
  /** Connections to the control database beside those of routing, 1 to 20. Default 2. */
  readonly poolSize?: number;
  /** How often an idle process looks for jobs of each name, 50 to 60000. Default 1000. */
  readonly pollIntervalMs?: number;
  /** How often one process of the fleet looks for jobs whose lease has ended, 1 to 3600. Default 30. */
  readonly maintenanceIntervalSeconds?: number;
  /** How long a shutdown waits for running jobs, 0 to 600000. Default 10000. */
  readonly stopTimeoutMs?: number;
}

/** Complete and checked. */
export type JobsSettings = Required<JobsOptions>;

export const JOBS_SETTINGS = Symbol.for('nestjs-sharding.jobs-settings');

const DEFAULTS = {
  schema: 'pgboss',
  createSchema: 'on',
  work: 'on',
  poolSize: 2,
  pollIntervalMs: 1000,
  maintenanceIntervalSeconds: 30,
  stopTimeoutMs: 10_000,
} as const satisfies Omit<JobsSettings, 'backend'>;

const CHOICES = { backend: JOB_BACKENDS, createSchema: ['on', 'off'], work: ['on', 'off'] } as const;
const RANGES = {
  poolSize: [1, 20],
  pollIntervalMs: [50, 60_000],
  maintenanceIntervalSeconds: [1, 3600],
  stopTimeoutMs: [0, 600_000],
} as const;

/** @throws ShardingError `invalid_options` with every problem */
export function resolveJobsOptions(options: JobsOptions): JobsSettings {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const settings = { ...DEFAULTS, ...given } as JobsSettings;
  const problems = jobsProblems(settings);
  if (problems.length === 0) return Object.freeze(settings);
  throw new ShardingError('invalid_options', ['JobsModule has problems:', ...problems].join('\n  - '));
}

function jobsProblems(settings: JobsSettings): string[] {
  const known = new Set(['backend', ...Object.keys(DEFAULTS)]);
  return [
    ...Object.keys(settings).flatMap((name) => (known.has(name) ? [] : [`unknown option "${name}"`])),
    ...Object.entries(CHOICES).flatMap(([name, choices]) => {
      const value = settings[name as keyof typeof CHOICES] as never;
      return (choices as readonly string[]).includes(value)
        ? []
        : [`${name} is one of ${choices.join(', ')}`];
    }),
    ...Object.entries(RANGES).flatMap(([name, range]) =>
      rangeProblem(name, settings[name as keyof typeof RANGES], range),
    ),
    ...(/^[a-z_][a-z0-9_]{0,49}$/.test(settings.schema)
      ? []
      : ['schema is a name of up to 50 small letters, digits and _']),
  ];
}

/** Nothing, or why the value is not a whole number of the range. */
export function rangeProblem(name: string, value: unknown, [from, to]: readonly [number, number]): string[] {
  const is = Number.isInteger(value) && (value as number) >= from && (value as number) <= to;
  return is ? [] : [`${name} is a whole number from ${from} to ${to}`];
}
