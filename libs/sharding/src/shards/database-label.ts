import type { DatabaseSettings } from '../sharding.settings.js';

/** `control`, `shard:<name>`, or with `:replica` behind it: the name of a database in logs and errors. */
export function labelOf({ target, role }: Pick<DatabaseSettings, 'target' | 'role'>): string {
  return role === 'replica' ? `${target}:replica` : target;
}
