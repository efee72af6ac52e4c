import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadShardingOptions, resolveOptions } from '@app/sharding/config';
import type { ShardingOptions, ShardingSettings } from '@app/sharding/config';
import type { ConfigurationSource } from './verb.js';

/** Where the configuration comes from. */
export interface Sources {
  /** Absent: there is no `sharding.toml` here, the environment alone says it. */
  readonly file: string | null;
  readonly profile: string | null;
  /** Names of the variables that say something. */
  readonly environment: readonly string[];
}

/**
 * What `ShardingModule.forRoot()` would run on here, as far as it is not code.
 *
 * @throws ShardingError `invalid_topology` listing every problem
 */
export function loadSettings({ file, profile }: ConfigurationSource): ShardingSettings {
  const options = loadShardingOptions({
    ...(file !== undefined && { file }),
    ...(profile !== undefined && { profile }),
  });
  return resolveOptions(withoutCode(options), 'toml');
}

/** Which file, profile and variables {@link loadSettings} reads. */
export function sourcesOf({ file, profile }: ConfigurationSource, environment = process.env): Sources {
  const named = file ?? given(environment['SHARDING_CONFIG']);
  const path = resolve(named ?? 'sharding.toml');
  return {
    file: named !== undefined || existsSync(path) ? path : null,
    profile: profile ?? given(environment['SHARDING_PROFILE']) ?? null,
    environment: Object.keys(environment)
      .filter((name) => name.startsWith('SHARDING_') && name.includes('__'))
      .toSorted(),
  };
}

/** The function that a `custom` tenant source needs is the application's; here nobody is asked for a tenant. */
function withoutCode(options: ShardingOptions): ShardingOptions {
  if (options.tenancy?.source !== 'custom') return options;
  return { ...options, tenancy: Object.assign({}, options.tenancy, { resolve: () => undefined }) };
}

function given(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}
