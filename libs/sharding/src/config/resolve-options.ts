import { createTopology, topologyProblems } from '@app/routing';
import { Secret } from '../secret.js';
import { DatabaseOptions, RESERVED_EXTRA_OPTIONS, RESERVED_TYPEORM_OPTIONS } from '../sharding.options.js';
import { configurationError } from './configuration-error.js';
import { databaseProblems } from './database-problems.js';
import { keyAs } from './key-style.js';
import { isRecord, shapeProblems } from './option-problems.js';
import { tenancySettings } from './tenancy-settings.js';
import type { ShardInput, ShardRouter } from '@app/routing';
import type { ShardingOptions, ShardOptions } from '../sharding.options.js';
import type {
  DatabaseSettings,
  ShardingSettings,
  ShardSettings,
  TenancySettings,
  TypeOrmSettings,
} from '../sharding.settings.js';
import type { KeyStyle } from './key-style.js';

const DEFAULTS = {
  poolSize: 10,
  connectTimeoutMs: 5000,
  slowQueryThresholdMs: 500,
  maxConnectionsWarnThreshold: 100,
  drainTimeoutMs: 10_000,
} as const;

/** The one shard of a deployment without shards. */
const DEFAULT_SHARD = 'default';

/**
 * What the user wrote -> what the program runs on: complete, checked, frozen.
 *
 * @param style how the keys were written, for the messages
 * @throws ShardingError `invalid_topology` listing every problem at once
 */
export function resolveOptions(options: ShardingOptions, style: KeyStyle = 'code'): ShardingSettings {
  const { problems, tenancy, database, inputs } = examine(options, style);
  if (problems.length > 0) throw configurationError(problems);
  const declared = database.shards ?? [];
  const controlUrl = database.primaryUrl ?? database.url;
  const control =
    controlUrl === undefined
      ? undefined
      : databaseSettings('control', { ...controlKeys(database), primaryUrl: controlUrl }, database);
  return Object.freeze({
    topology: createTopology(inputs),
    shards: Object.freeze(shardSettings(declared, database, control)),
    ...(control && { control }),
    unsharded: declared.length === 0,
    tenancy: Object.freeze(tenancy),
    ...(options.router && { router: options.router }),
    maxConnectionsWarnThreshold: database.maxConnectionsWarnThreshold ?? DEFAULTS.maxConnectionsWarnThreshold,
    drainTimeoutMs: database.drainTimeoutMs ?? DEFAULTS.drainTimeoutMs,
    typeorm: typeOrmSettings(options),
    migrations: Object.freeze({
      control: options.migrations?.control ?? [],
      shards: options.migrations?.shards ?? [],
    }),
    notices: Object.freeze(notices(declared, style)),
  });
}

/** Everything wrong with the options, empty when {@link resolveOptions} accepts them. */
export function optionProblems(options: ShardingOptions, style: KeyStyle): string[] {
  return examine(options, style).problems;
}

interface Examined {
  readonly problems: string[];
  /** Not to be used when there are problems, like the rest. */
  readonly tenancy: TenancySettings;
  readonly database: DatabaseOptions;
  readonly inputs: readonly ShardInput[];
}

function examine(options: ShardingOptions, style: KeyStyle): Examined {
  const database = isRecord(options.database) ? (options.database as DatabaseOptions) : new DatabaseOptions();
  const declared: Partial<ShardOptions>[] = (Array.isArray(database.shards) ? database.shards : []).map(
    (shard: unknown) => (isRecord(shard) ? shard : {}),
  );
  const inputs = declared.length === 0 ? [{ name: DEFAULT_SHARD }] : declared.map(shardInput);
  const problems = shapeProblems(options, style);
  const tenancy = tenancySettings(isRecord(options.tenancy) ? options.tenancy : undefined, style, problems);
  problems.push(
    ...databaseProblems(database, declared, style),
    ...topologyProblems(inputs).map((problem) =>
      problem.startsWith('shards[') ? `database.${problem}` : `database.shards: ${problem}`,
    ),
    ...codeProblems(options),
  );
  return { problems, tenancy, database, inputs };
}

function typeOrmSettings({
  entities = [],
  controlEntities = [],
  subscribers = [],
  typeorm = {},
  createDataSource,
}: ShardingOptions): TypeOrmSettings {
  const settings = {
    shardEntities: entities,
    controlEntities,
    subscribers,
    get options() {
      return typeorm;
    },
    ...(createDataSource && { createDataSource }),
  };
  return Object.freeze(Object.defineProperty(settings, 'options', { enumerable: false }));
}

function controlKeys({ maintenanceUrl }: DatabaseOptions): Pick<ShardOptions, 'maintenanceUrl'> {
  return maintenanceUrl === undefined ? {} : { maintenanceUrl };
}

function shardInput(shard: Partial<ShardOptions>): ShardInput {
  const { name, slots, group, member } = shard;
  return {
    name: typeof name === 'string' ? name : '',
    ...(Array.isArray(slots) && { slots }),
    ...(typeof group === 'number' && { group }),
    ...(typeof member === 'number' && { member }),
  };
}

function shardSettings(
  declared: readonly ShardOptions[],
  database: DatabaseOptions,
  control: DatabaseSettings | undefined,
): ShardSettings[] {
  if (declared.length === 0 && control) {
    const primary = Object.freeze({ ...control, target: `shard:${DEFAULT_SHARD}` });
    return [Object.freeze({ name: DEFAULT_SHARD, primary })];
  }
  return declared.map((shard) =>
    Object.freeze({
      name: shard.name,
      primary: databaseSettings(`shard:${shard.name}`, shard, database),
    }),
  );
}

/** What is set for one database, else what is set for all, else the default. */
function databaseSettings(
  target: string,
  own: Pick<ShardOptions, 'primaryUrl' | 'maintenanceUrl' | 'primaryPoolSize'>,
  shared: DatabaseOptions,
): DatabaseSettings {
  return Object.freeze({
    target,
    url: new Secret(own.primaryUrl),
    ...(own.maintenanceUrl !== undefined && { maintenanceUrl: new Secret(own.maintenanceUrl) }),
    poolSize: own.primaryPoolSize ?? shared.primaryPoolSize ?? shared.poolSize ?? DEFAULTS.poolSize,
    connectTimeoutMs: shared.connectTimeoutMs ?? DEFAULTS.connectTimeoutMs,
    statementTimeoutMs: shared.statementTimeoutMs ?? 0,
    slowQueryThresholdMs: shared.slowQueryThresholdMs ?? DEFAULTS.slowQueryThresholdMs,
  });
}

/** Checks what only code gives, as far as a wrong value would show only later. */
function codeProblems({ typeorm, router, createDataSource }: ShardingOptions): string[] {
  const problems: string[] = [];
  if (typeorm !== undefined && !isRecord(typeorm)) problems.push('typeorm: must be an object');
  const options = isRecord(typeorm) ? typeorm : {};
  const extra = isRecord(options['extra']) ? options['extra'] : {};
  const reserved = [
    ...RESERVED_TYPEORM_OPTIONS.filter((key) => key in options),
    ...RESERVED_EXTRA_OPTIONS.filter((key) => key in extra).map((key) => `extra.${key}`),
  ];
  problems.push(...reserved.map((key) => `typeorm.${key}: is decided by the library`));
  if (router !== undefined && typeof (router as Partial<ShardRouter> | null)?.route !== 'function') {
    problems.push('router: must be a ShardRouter, an object with route(key, topology)');
  }
  if (createDataSource !== undefined && typeof createDataSource !== 'function') {
    problems.push('createDataSource: must be a function');
  }
  return problems;
}

function notices(shards: readonly ShardOptions[], style: KeyStyle): string[] {
  const replicas = shards.filter((shard) => shard.replicaUrl !== undefined).map((shard) => shard.name);
  if (replicas.length === 0) return [];
  return [`${keyAs(style, 'replicaUrl')} of ${replicas.join(', ')}: this version reads from primaries only`];
}
