import { IsArray, IsBoolean, IsIn, IsInt, IsOptional, Max, Min } from './validators.js';
import type { MigrationList } from './typeorm.options.js';

/** When a boot migrates by itself. */
export const AUTO_MIGRATES = ['never', 'development', 'always'] as const;
export type AutoMigrate = (typeof AUTO_MIGRATES)[number];

/** What a boot does about a database that lacks migrations. */
export const PENDING_MIGRATIONS = ['refuse', 'warn'] as const;
export type PendingMigrations = (typeof PENDING_MIGRATIONS)[number];

/** `[migrations]`: what runs on which database, and how carefully. */
export class MigrationsOptions {
  /** Of the control database: classes, or globs of compiled files, relative to the working directory. */
  @IsOptional()
  @IsArray()
  control?: MigrationList;

  /** Of every shard. */
  @IsOptional()
  @IsArray()
  shards?: MigrationList;

  /** Default `development`: only under the profile `development` or `dev`, never without a profile. */
  @IsOptional()
  @IsIn(AUTO_MIGRATES)
  autoMigrate?: AutoMigrate;

  /** A boot that finds migrations missing: `refuse` (default, `migrations_pending`), or `warn`. */
  @IsOptional()
  @IsIn(PENDING_MIGRATIONS)
  pendingMigrations?: PendingMigrations;

  /** A migration waits this long for a lock, then lets others pass and tries again. Default 5000. */
  @IsOptional()
  @IsInt()
  @Min(1)
  lockTimeoutMs?: number;

  /** Whether generated `bigint` ids differ between shards. Default true. */
  @IsOptional()
  @IsBoolean()
  interleaveIdentities?: boolean;

  /** The step between two generated ids of one shard, so the most shards there can ever be. Default 1024; permanent. */
  @IsOptional()
  @IsInt()
  @Min(2)
  @Max(1_048_576)
  identityStride?: number;
}
