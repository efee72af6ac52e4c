import { IsArray, IsIn, IsInt, IsOptional, IsString, Matches, Min } from './validators.js';
import type { SlotSpec } from '@app/routing';

/** What a replica's readers get while it is not ready. */
export const REPLICA_FALLBACKS = ['fail_readiness', 'primary'] as const;
export type ReplicaFallback = (typeof REPLICA_FALLBACKS)[number];

/** What stands between this process and a database. */
export const POOLERS = ['none', 'transaction'] as const;
export type Pooler = (typeof POOLERS)[number];

/** The check of a connection URL. */
export const IsPostgresUrl = () =>
  Matches(/^postgres(?:ql)?:\/\/\S+$/i, { message: 'must be a postgres:// or postgresql:// URL' });

/** One `[[database.shards]]` entry. */
export class ShardOptions {
  /** Stable identity in logs, health, metrics and the command line. */
  @IsString()
  name!: string;

  @IsPostgresUrl()
  primaryUrl!: string;

  /** Slots or ranges `"A-B"` (inclusive). All shards of a group declare them, or none does. `[]` is drained. */
  @IsOptional()
  @IsArray()
  slots?: SlotSpec[];

  /** Policy axis: where the data is allowed to live, 0 to 255. Default 0. */
  @IsOptional()
  @IsInt()
  group?: number;

  /** Capacity axis within the group, 0 to 63. Default: by declaration order. */
  @IsOptional()
  @IsInt()
  member?: number;

  /** A streaming replica of this shard's primary; readers use it while it is ready. */
  @IsOptional()
  @IsPostgresUrl()
  replicaUrl?: string;

  /** Connections to the primary; default `database.primaryPoolSize`. */
  @IsOptional()
  @IsInt()
  @Min(1)
  primaryPoolSize?: number;

  @IsOptional()
  @IsInt()
  @Min(1)
  replicaPoolSize?: number;

  @IsOptional()
  @IsIn(REPLICA_FALLBACKS)
  replicaFallback?: ReplicaFallback;

  /** A direct connection (not through a transaction-mode pooler) for migrations and the like. */
  @IsOptional()
  @IsPostgresUrl()
  maintenanceUrl?: string;

  @IsOptional()
  @IsIn(POOLERS)
  pooler?: Pooler;

  @IsOptional()
  @IsInt()
  @Min(1)
  connectTimeoutMs?: number;

  @IsOptional()
  @IsInt()
  @Min(0)
  statementTimeoutMs?: number;

  @IsOptional()
  @IsInt()
  @Min(0)
  idleInTransactionTimeoutMs?: number;

  @IsOptional()
  @IsInt()
  @Min(0)
  maxReplicaLagMs?: number;
}
