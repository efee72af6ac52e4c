import { clientConfig, snakeCase } from '@app/sharding/config';
import type { DatabaseSettings, ReplicaSettings, Secret, ShardingSettings } from '@app/sharding/config';

type Plain = string | number | boolean | readonly Plain[] | { readonly [key: string]: Plain | undefined };

/** The resolved configuration in the words of `sharding.toml`, defaults filled in and secrets masked. */
export function resolvedConfiguration(settings: ShardingSettings): Record<string, Plain> {
  const { control, controlReplica, reads, directory, crossShard } = settings;
  return plain({
    database: {
      ...(control && placed(control, controlReplica)),
      max_connections_warn_threshold: settings.maxConnectionsWarnThreshold,
      drain_timeout_ms: settings.drainTimeoutMs,
      read_your_writes: reads.readYourWrites,
      causal_wait_ms: reads.causalWaitMs,
      replica_probe_interval_ms: reads.probeIntervalMs,
      session_secret: masked(reads.sessionSecret),
      scatter: crossShard.scatter,
      cursor_secret: masked(crossShard.cursorSecret),
      move_certificate_secret: masked(settings.moveCertificateSecret),
      cancel_on_disconnect: settings.cancelOnDisconnect,
      directory_shard_router: directory.enabled,
      directory_snapshot_max: directory.snapshotMax,
      directory_cache_ttl_ms: directory.cacheTtlMs,
      directory_on_outage: directory.onOutage,
      directory_max_staleness_ms: directory.maxStalenessMs,
      slot_map_guard: settings.slotMapGuard,
      shards: settings.unsharded ? [] : shardsOf(settings),
    },
    tenancy: tenancyOf(settings),
    migrations: migrationsOf(settings),
  });
}

function shardsOf({ shards, topology }: ShardingSettings): object[] {
  return shards.map(({ name, primary, replica }) => {
    const { group, identifier, slotCount } = topology.byName(name);
    return {
      name,
      group,
      member: identifier?.member,
      slots: slotCount === 0 ? [] : topology.rangesOfShard(name).split(', '),
      ...placed(primary, replica),
    };
  });
}

function placed(primary: DatabaseSettings, replica: ReplicaSettings | undefined): object {
  return {
    primary_url: maskedUrl(primary.url),
    maintenance_url: primary.maintenanceUrl && maskedUrl(primary.maintenanceUrl),
    primary_pool_size: primary.poolSize,
    pooler: primary.pooler,
    connect_timeout_ms: primary.connectTimeoutMs,
    statement_timeout_ms: primary.statementTimeoutMs,
    idle_in_transaction_timeout_ms: primary.idleInTransactionTimeoutMs,
    slow_query_threshold_ms: primary.slowQueryThresholdMs,
    ...(replica && {
      replica_url: maskedUrl(replica.database.url),
      replica_pool_size: replica.database.poolSize,
      replica_fallback: replica.fallback,
      max_replica_lag_ms: replica.maxLagMs,
    }),
  };
}

function tenancyOf({ tenancy }: ShardingSettings): object {
  if (!tenancy.enabled) return { enabled: false };
  const { source, required, publicPaths, maxLength } = tenancy;
  const { kind, ...parts } = source;
  const shown = Object.entries(parts).filter(([name, value]) => typeof value === 'string' && name !== 'key');
  return {
    enabled: true,
    source: kind,
    required,
    public_paths: publicPaths,
    max_length: maxLength,
    ...Object.fromEntries(shown.map(([name, value]) => [snakeCase(name), value])),
    ...(source.kind === 'jwt' && { algorithms: source.key.algorithms, key: MASK }),
  };
}

function migrationsOf({ migrations }: ShardingSettings): object {
  const { control, shards, ...rest } = migrations;
  const names = (list: typeof control) =>
    list.map((entry) => (typeof entry === 'string' ? entry : entry.name));
  return {
    control: names(control),
    shards: names(shards),
    ...Object.fromEntries(Object.entries(rest).map(([key, value]) => [snakeCase(key), value])),
  };
}

export const MASK = '****';

function masked(secret: Secret | undefined): string | undefined {
  return secret && MASK;
}

/** Put together from what is safe to show: user, host, port, database and TLS mode, whatever else the URL holds. */
export function maskedUrl(url: Secret): string {
  const { host, port, user, password, database } = clientConfig(url);
  const mode = /[?&](sslmode=[a-z-]+)/.exec(url.reveal())?.[1];
  const login = user ? `${encodeURIComponent(user)}${password ? `:${MASK}` : ''}@` : '';
  const server = host?.includes(':') ? `[${host}]` : encodeURIComponent(host ?? 'localhost');
  return `postgres://${login}${server}:${port ?? 5432}/${encodeURIComponent(database ?? '')}${mode ? `?${mode}` : ''}`;
}

/** Without what is undefined, which neither JSON nor TOML has. */
function plain(value: object): Record<string, Plain> {
  return JSON.parse(JSON.stringify(value)) as Record<string, Plain>;
}
