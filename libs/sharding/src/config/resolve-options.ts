import { createTopology, topologyProblems } from '@app/routing';
import { Secret } from '../secret.js';
import { DatabaseOptions, RESERVED_TYPEORM_OPTIONS, ShardOptions } from '../sharding.options.js';
import { databaseProblems } from './database-problems.js';
import { keyAs } from './key-style.js';
import { configurationError } from './load-options.js';
import { isRecord, shapeProblems } from './option-problems.js';
import { tenancySettings } from './tenancy-settings.js';
import type { ShardInput } from '@app/routing';
import type { ShardingOptions } from '../sharding.options.js';
import type { DatabaseSettings, ShardingSettings, ShardSettings } from '../sharding.settings.js';
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
  const database = isRecord(options.database) ? (options.database as DatabaseOptions) : new DatabaseOptions();
  const declared = (Array.isArray(database.shards) ? database.shards : []).filter(
    isRecord,
  ) as unknown as ShardOptions[];
  const controlUrl = database.primaryUrl ?? database.url;
  const unsharded = declared.length === 0;
  const inputs = unsharded ? [{ name: DEFAULT_SHARD }] : declared.map(shardInput);
  const problems = shapeProblems(options, style);
  const tenancy = tenancySettings(isRecord(options.tenancy) ? options.tenancy : undefined, style, problems);
  problems.push(
    ...databaseProblems(database, declared, style),
    ...topologyProblems(inputs).map((problem) => `database.shards: ${problem}`),
    ...reservedProblems(options),
  );
  if (problems.length > 0) throw configurationError(problems);
  const control =
    controlUrl === undefined
      ? undefined
      : databaseSettings('control', { ...controlKeys(database), primaryUrl: controlUrl }, database);
  return Object.freeze({
    topology: createTopology(inputs),
    shards: Object.freeze(shardSettings(declared, database, control)),
    ...(control && { control }),
    unsharded,
    tenancy: Object.freeze(tenancy),
    ...(options.router && { router: options.router }),
    maxConnectionsWarnThreshold: database.maxConnectionsWarnThreshold ?? DEFAULTS.maxConnectionsWarnThreshold,
    drainTimeoutMs: database.drainTimeoutMs ?? DEFAULTS.drainTimeoutMs,
    typeorm: Object.freeze({
      shardEntities: options.entities ?? [],
      controlEntities: options.controlEntities ?? [],
      subscribers: options.subscribers ?? [],
      options: options.typeorm ?? {},
      ...(options.createDataSource && { createDataSource: options.createDataSource }),
    }),
    migrations: Object.freeze({
      control: options.migrations?.control ?? [],
      shards: options.migrations?.shards ?? [],
    }),
    notices: Object.freeze(notices(declared, style)),
  });
}

function controlKeys({ maintenanceUrl }: DatabaseOptions): Pick<ShardOptions, 'maintenanceUrl'> {
  return maintenanceUrl === undefined ? {} : { maintenanceUrl };
}

function shardInput(shard: ShardOptions): ShardInput {
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
    return [
      { name: DEFAULT_SHARD, primary: Object.freeze({ ...control, target: `shard:${DEFAULT_SHARD}` }) },
    ];
  }
  return declared.map((shard) => ({
    name: shard.name,
    primary: databaseSettings(`shard:${shard.name}`, shard, database),
  }));
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

function reservedProblems({ typeorm }: ShardingOptions): string[] {
  return RESERVED_TYPEORM_OPTIONS.filter((key) => isRecord(typeorm) && key in typeorm).map(
    (key) => `typeorm.${key}: is decided by the library`,
  );
}

function notices(shards: readonly ShardOptions[], style: KeyStyle): string[] {
  const replicas = shards.filter((shard) => shard.replicaUrl !== undefined).map((shard) => shard.name);
  if (replicas.length === 0) return [];
  return [`${keyAs(style, 'replicaUrl')} of ${replicas.join(', ')}: this version reads from primaries only`];
}
