import { isRecord } from './option-problems.js';
import { keyAs } from './key-style.js';
import type { MigrationsOptions } from '../migrations.options.js';
import type { MigrationSettings } from '../sharding.settings.js';
import type { KeyStyle } from './key-style.js';

const DEFAULTS = {
  autoMigrate: 'development',
  pendingMigrations: 'refuse',
  lockTimeoutMs: 5000,
  interleaveIdentities: true,
  identityStride: 1024,
} as const;

/** Complete and frozen; the lists as they were written. */
export function migrationSettings(options: MigrationsOptions = {}): MigrationSettings {
  return Object.freeze({
    control: options.control ?? [],
    shards: options.shards ?? [],
    autoMigrate: options.autoMigrate ?? DEFAULTS.autoMigrate,
    pendingMigrations: options.pendingMigrations ?? DEFAULTS.pendingMigrations,
    lockTimeoutMs: options.lockTimeoutMs ?? DEFAULTS.lockTimeoutMs,
    interleaveIdentities: options.interleaveIdentities ?? DEFAULTS.interleaveIdentities,
    identityStride: options.identityStride ?? DEFAULTS.identityStride,
  });
}

/** Rules that the shape of the options does not tell. */
export function migrationProblems(
  { migrations, database }: Record<string, unknown>,
  style: KeyStyle,
): string[] {
  if (!isRecord(migrations)) return [];
  const lists = { control: migrations['control'], shards: migrations['shards'] };
  const problems = Object.entries(lists)
    .filter(([, list]) => Array.isArray(list) && !list.every(isMigration))
    .map(([key]) => `migrations.${key}: must be a list of migration classes or globs of files`);
  const noControl = isRecord(database) && (database['primaryUrl'] ?? database['url']) === undefined;
  if (noControl && Array.isArray(lists.control) && lists.control.length > 0) {
    problems.push(`migrations.control: needs a control database; set database.${keyAs(style, 'primaryUrl')}`);
  }
  return problems;
}

function isMigration(value: unknown): boolean {
  return typeof value === 'function' || (typeof value === 'string' && value !== '');
}
