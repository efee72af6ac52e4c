import type { KeyObject } from 'node:crypto';
import type { GroupOf, ShardRouter, Topology } from '@app/routing';
import type { AutoMigrate, PendingMigrations } from './migrations.options.js';
import type { Secret } from './secret.js';
import type { Pooler, ReplicaFallback } from './shard.options.js';
import type {
  CrossShardAccess,
  DirectoryOutage,
  ReadYourWrites,
  ScatterPolicy,
  SlotMapGuard,
} from './sharding.options.js';
import type {
  CreateDataSource,
  EntityList,
  MigrationList,
  SubscriberList,
  TypeOrmOptions,
} from './typeorm.options.js';

/** Token of the {@link ShardingSettings}. */
export const SETTINGS = Symbol.for('nestjs-sharding.settings');

/**
 * What the program runs on: complete, checked and frozen by `resolveOptions()`. Nobody applies a default later.
 * What a user writes is in `sharding.options.ts`.
 */
export interface ShardingSettings {
  readonly topology: Topology;
  /** In declaration order, the same as `topology.shards`. */
  readonly shards: readonly ShardSettings[];
  /** Absent without a control database. */
  readonly control?: DatabaseSettings;
  readonly controlReplica?: ReplicaSettings;
  /** True when no shard is configured: the control database is then the only shard, `default` at (0,0). */
  readonly unsharded: boolean;
  readonly tenancy: TenancySettings;
  readonly router?: ShardRouter;
  readonly groupOf?: GroupOf;
  readonly directory: DirectorySettings;
  readonly slotMapGuard: SlotMapGuard;
  /** 0 disables the warning. */
  readonly maxConnectionsWarnThreshold: number;
  readonly drainTimeoutMs: number;
  readonly reads: ReadSettings;
  readonly cancelOnDisconnect: boolean;
  readonly crossShard: CrossShardSettings;
  /** Absent: certificates of moves are not signed. */
  readonly moveCertificateSecret?: Secret;
  readonly typeorm: TypeOrmSettings;
  readonly migrations: MigrationSettings;
  /** Absent: none was named. */
  readonly profile?: string;
}

/** What runs on which database; classes and globs as they were written. */
export interface MigrationSettings {
  readonly control: MigrationList;
  readonly shards: MigrationList;
  readonly autoMigrate: AutoMigrate;
  readonly pendingMigrations: PendingMigrations;
  /** Of each wait for a lock. */
  readonly lockTimeoutMs: number;
  readonly interleaveIdentities: boolean;
  readonly identityStride: number;
}

export interface ShardSettings {
  readonly name: string;
  readonly primary: DatabaseSettings;
  readonly replica?: ReplicaSettings;
}

/** The directory of pins, whoever made its router. */
export interface DirectorySettings {
  /** Whether it is the router where no other is given. */
  readonly enabled: boolean;
  readonly snapshotMax: number;
  readonly cacheTtlMs: number;
  readonly onOutage: DirectoryOutage;
  /** Used with `fail`. */
  readonly maxStalenessMs: number;
}

/** Reads across tenants. */
export interface CrossShardSettings {
  readonly access?: CrossShardAccess;
  readonly scatter: ScatterPolicy;
  /** Absent: page cursors end with the process. */
  readonly cursorSecret?: Secret;
}

export interface ReplicaSettings {
  readonly database: DatabaseSettings;
  /** What readers get while it is not ready. */
  readonly fallback: ReplicaFallback;
  /** 0: any lag will do. */
  readonly maxLagMs: number;
}

/** How reads find out whether a replica will do. */
export interface ReadSettings {
  readonly readYourWrites: ReadYourWrites;
  readonly causalWaitMs: number;
  readonly probeIntervalMs: number;
  /** Set with `session`. */
  readonly sessionSecret?: Secret;
}

/** One database server role: where it is and how much of it may be used. */
export interface DatabaseSettings {
  /** `control` or `shard:<name>`; the name in logs, errors and health. */
  readonly target: string;
  readonly role: 'primary' | 'replica';
  readonly url: Secret;
  /** For what a transaction-mode pooler cannot do; `url` when not set. */
  readonly maintenanceUrl?: Secret;
  readonly pooler: Pooler;
  readonly poolSize: number;
  readonly connectTimeoutMs: number;
  /** 0: no bound, like the next one. */
  readonly statementTimeoutMs: number;
  readonly idleInTransactionTimeoutMs: number;
  readonly slowQueryThresholdMs: number;
}

/** What every `DataSource` is built with, beside the connection. */
export interface TypeOrmSettings {
  readonly shardEntities: EntityList;
  readonly controlEntities: EntityList;
  readonly subscribers: SubscriberList;
  /** Not enumerable and behind a getter: it can hold a client key. */
  readonly options: TypeOrmOptions;
  readonly createDataSource?: CreateDataSource;
}

export type TenancySettings =
  | { readonly enabled: false }
  | {
      readonly enabled: true;
      readonly required: 'on_use' | 'always';
      readonly publicPaths: readonly string[];
      /** UTF-8 bytes. */
      readonly maxLength: number;
      readonly source: TenantSourceSettings;
      readonly normalize?: (tenant: string) => string;
      readonly principalTenant?: PrincipalTenant;
    };

export type TenantSourceSettings =
  | { readonly kind: 'header'; readonly headerName: string }
  | { readonly kind: 'subdomain'; readonly baseDomain?: string }
  | JwtSettings
  | { readonly kind: 'custom'; readonly resolve: CustomTenantSource };

export interface JwtSettings {
  readonly kind: 'jwt';
  readonly key: JwtKeySettings;
  readonly issuer?: string;
  readonly audience?: string;
  readonly claim: string;
}

/** What verifies a token, with the only algorithms that are accepted with it. */
export type JwtKeySettings = { readonly algorithms: readonly string[] } & (
  { readonly secret: Secret } | { readonly publicKey: KeyObject } | { readonly jwksUrl: Secret }
);

/** Reads the tenant from a request of any kind; `undefined` means there is none. */
export type CustomTenantSource = (request: unknown) => string | undefined | Promise<string | undefined>;

/**
 * The tenant that the authenticated principal of a request belongs to.
 *
 * A string must equal the tenant of the request, else 403. `undefined` (nobody is known) is refused too;
 * `null` says that this request may act without a principal, for example a login page. On Fastify it is given Node's
 * request where nobody passes the framework's on: in middleware, and for `Shards.current()` without an argument.
 */
export type PrincipalTenant = (
  request: unknown,
) => string | null | undefined | Promise<string | null | undefined>;
