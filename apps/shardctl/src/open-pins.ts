import { userInfo } from 'node:os';
import { ShardingError } from '@app/routing';
import { failureOf } from './failure.js';
import type { ShardingSettings } from '@app/sharding/config';
import type { Pins } from '@app/sharding/operator';

/**
 * Lends the pins of the deployment to `work`.
 *
 * @throws ShardingError `invalid_topology` without a control database, `migrations_pending` where it has no directory,
 *   `directory_unavailable` where the role may not use it
 */
export async function withPinsOf<T>(
  settings: ShardingSettings,
  work: (pins: Pins) => Promise<T>,
): Promise<T> {
  const { controlPlace, noDirectory, withPins } = await import('@app/sharding/operator');
  controlPlace(settings);
  try {
    return await withPins(settings, work);
  } catch (error) {
    if (error instanceof ShardingError) throw error;
    throw noDirectory(failureOf(error).code, error) ?? error;
  }
}

/** Who signs a change where nobody is named: the login of the operator. */
export function operatorName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'shardctl'; // a container's user may have no name
  }
}

/** Said with every change that nobody would obey. */
export function unusedNote({ directory }: ShardingSettings): string[] {
  if (directory.enabled) return [];
  return [
    'directory_shard_router is off in this configuration: the change has no effect unless a router in code asks the directory',
  ];
}
