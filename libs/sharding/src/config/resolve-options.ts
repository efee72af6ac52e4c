import { createTopology, topologyProblems } from '@app/routing';
import { Secret } from '../secret.js';
import { DatabaseOptions } from '../sharding.options.js';
import { RESERVED_EXTRA_OPTIONS, RESERVED_TYPEORM_OPTIONS } from '../typeorm.options.js';
import { configurationError } from './configuration-error.js';
import { databaseProblems } from './database-problems.js';
import { migrationProblems, migrationSettings } from './migration-settings.js';
import { isRecord, shapeProblems } from './option-problems.js';
import { tenancySettings } from './tenancy-settings.js';
import type { ShardInput, ShardRouter } from '@app/routing';
import type { ShardOptions } from '../shard.options.js';
import type { ShardingOptions } from '../sharding.options.js';
import type {
  CrossShardSettings,
  DatabaseSettings,
  DirectorySettings,
  ReadSettings,
  ShardingSettings,
  ShardSettings,
  TenancySettings,
  TypeOrmSettings,
} from '../sharding.settings.js';
import type { KeyStyle } from './key-style.js';

const DEFAULTS = {
  poolSize: 10,
  replicaFallback: 'fail_readiness',
  pooler: 'none',
  connectTimeoutMs: 5000,
  statementTimeoutMs: 30_000,
  idleInTransactionTimeoutMs: 60_000,
  readYourWrites: 'request',
  scatter: 'allow',
  causalWaitMs: 100,
  maxReplicaLagMs: 0,
  replicaProbeIntervalMs: 1000,
  slowQueryThresholdMs: 500,
  maxConnectionsWarnThreshold: 100,
  drainTimeoutMs: 10_000,
  directorySnapshotMax: 100_000,
  directoryCacheTtlMs: 30_000,
  directoryOnOutage: 'serve_stale',
  directoryMaxStalenessMs: 30_000,
  slotMapGuard: 'warn',
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
  const control = controlSettings(database);
  return Object.freeze({
    topology: createTopology(inputs),
    shards: Object.freeze(shardSettings(declared, database, control)),
    ...(control && { control: control.primary }),
    ...(control?.replica && { controlReplica: control.replica }),
    unsharded: declared.length === 0,
    tenancy: Object.freeze(tenancy),
    ...(options.router && { router: options.router }),
    ...(options.groupOf && { groupOf: options.groupOf }),
    directory: directorySettings(database),
    slotMapGuard: database.slotMapGuard ?? DEFAULTS.slotMapGuard,
    maxConnectionsWarnThreshold: database.maxConnectionsWarnThreshold ?? DEFAULTS.maxConnectionsWarnThreshold,
    drainTimeoutMs: database.drainTimeoutMs ?? DEFAULTS.drainTimeoutMs,
    reads: readSettings(database),
    cancelOnDisconnect: database.cancelOnDisconnect ?? false,
    crossShard: crossShardSettings(database, options),
    ...certificateSecret(database),
    typeorm: typeOrmSettings(options),
    migrations: migrationSettings(options.migrations),
    ...(options.profile !== undefined && { profile: options.profile }),
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
    ...migrationProblems({ ...options }, style),
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

function shardInput(shard: Partial<ShardOptions>): ShardInput {
  const { name, slots, group, member } = shard;
  return {
    name: typeof name === 'string' ? name : '',
    ...(Array.isArray(slots) && { slots }),
    ...(typeof group === 'number' && { group }),
    ...(typeof member === 'number' && { member }),
  };
}

function crossShardSettings(
  { scatter, cursorSecret }: DatabaseOptions,
  { crossShardAccess }: ShardingOptions,
): CrossShardSettings {
  return Object.freeze({
    ...(crossShardAccess && { access: crossShardAccess }),
    scatter: scatter ?? DEFAULTS.scatter,
    ...(cursorSecret !== undefined && { cursorSecret: new Secret(cursorSecret) }),
  });
}

function certificateSecret({
  moveCertificateSecret,
}: DatabaseOptions): Pick<ShardingSettings, 'moveCertificateSecret'> {
  if (moveCertificateSecret === undefined) return {};
  return { moveCertificateSecret: new Secret(moveCertificateSecret) };
}

function directorySettings(database: DatabaseOptions): DirectorySettings {
  return Object.freeze({
    enabled: database.directoryShardRouter ?? false,
    snapshotMax: database.directorySnapshotMax ?? DEFAULTS.directorySnapshotMax,
    cacheTtlMs: database.directoryCacheTtlMs ?? DEFAULTS.directoryCacheTtlMs,
    onOutage: database.directoryOnOutage ?? DEFAULTS.directoryOnOutage,
    maxStalenessMs: database.directoryMaxStalenessMs ?? DEFAULTS.directoryMaxStalenessMs,
  });
}

function readSettings(database: DatabaseOptions): ReadSettings {
  const { sessionSecret } = database;
  return Object.freeze({
    readYourWrites: database.readYourWrites ?? DEFAULTS.readYourWrites,
    causalWaitMs: database.causalWaitMs ?? DEFAULTS.causalWaitMs,
    probeIntervalMs: database.replicaProbeIntervalMs ?? DEFAULTS.replicaProbeIntervalMs,
    ...(sessionSecret !== undefined && { sessionSecret: new Secret(sessionSecret) }),
  });
}

/** The keys of `[database]` that describe the control database itself, as if it were a shard. */
function controlSettings(database: DatabaseOptions): PlaceSettings | undefined {
  const { url, primaryUrl = url, replicaUrl, maintenanceUrl } = database;
  if (primaryUrl === undefined) return undefined;
  const own = {
    primaryUrl,
    ...(replicaUrl !== undefined && { replicaUrl }),
    ...(maintenanceUrl !== undefined && { maintenanceUrl }),
  };
  return placeSettings('control', own, database);
}

function shardSettings(
  declared: readonly ShardOptions[],
  database: DatabaseOptions,
  control: PlaceSettings | undefined,
): ShardSettings[] {
  if (declared.length === 0 && control) {
    const target = `shard:${DEFAULT_SHARD}`;
    const { primary, replica } = control;
    return [
      Object.freeze({
        name: DEFAULT_SHARD,
        primary: Object.freeze({ ...primary, target }),
        ...(replica && {
          replica: Object.freeze({ ...replica, database: Object.freeze({ ...replica.database, target }) }),
        }),
      }),
    ];
  }
  return declared.map((shard) =>
    Object.freeze({ name: shard.name, ...placeSettings(`shard:${shard.name}`, shard, database) }),
  );
}

/** A primary and perhaps its replica. */
type PlaceSettings = Pick<ShardSettings, 'primary' | 'replica'>;
type PlaceOptions = Omit<ShardOptions, 'name' | 'slots' | 'group' | 'member'>;

/** What is set for one place, else what is set for all, else the default. */
function placeSettings(target: string, own: PlaceOptions, shared: DatabaseOptions): PlaceSettings {
  const of = <K extends keyof PlaceOptions & keyof DatabaseOptions & keyof typeof DEFAULTS>(key: K) =>
    (own[key] ?? shared[key] ?? DEFAULTS[key]) as NonNullable<PlaceOptions[K]>;
  const limits = {
    target,
    pooler: of('pooler'),
    connectTimeoutMs: of('connectTimeoutMs'),
    statementTimeoutMs: of('statementTimeoutMs'),
    idleInTransactionTimeoutMs: of('idleInTransactionTimeoutMs'),
    slowQueryThresholdMs: shared.slowQueryThresholdMs ?? DEFAULTS.slowQueryThresholdMs,
  };
  const poolSize = (key: 'primaryPoolSize' | 'replicaPoolSize') =>
    own[key] ?? shared[key] ?? shared.poolSize ?? DEFAULTS.poolSize;
  const primary: DatabaseSettings = Object.freeze({
    ...limits,
    role: 'primary',
    url: new Secret(own.primaryUrl),
    ...(own.maintenanceUrl !== undefined && { maintenanceUrl: new Secret(own.maintenanceUrl) }),
    poolSize: poolSize('primaryPoolSize'),
  });
  if (own.replicaUrl === undefined) return { primary };
  const url = new Secret(own.replicaUrl);
  const database: DatabaseSettings = Object.freeze({
    ...limits,
    role: 'replica',
    url,
    poolSize: poolSize('replicaPoolSize'),
  });
  const replica = { database, fallback: of('replicaFallback'), maxLagMs: of('maxReplicaLagMs') };
  return { primary, replica: Object.freeze(replica) };
}

/** Checks what only code gives, as far as a wrong value would show only later. */
function codeProblems({
  typeorm,
  router,
  createDataSource,
  crossShardAccess,
  groupOf,
  profile,
}: ShardingOptions): string[] {
  const problems: string[] = [];
  if (profile !== undefined && typeof profile !== 'string') problems.push('profile: must be a string');
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
  for (const [key, value] of Object.entries({ createDataSource, crossShardAccess, groupOf })) {
    if (value !== undefined && typeof value !== 'function') problems.push(`${key}: must be a function`);
  }
  return problems;
}
