import type { HealthComponent } from '../health-components.js';
import type { OpenDirectory } from './directory-connection.js';

/**
 * The component `db:directory`: down where no key can be routed. While an old snapshot serves it is up, and says so. Where
 * keys are looked up, the counts of rows that cannot be obeyed are of those that were looked up only.
 */
export function directoryHealth(opened: readonly OpenDirectory[]): HealthComponent[] {
  return opened.map((open, index) => ({
    key: index === 0 ? 'db:directory' : `db:directory:${index + 1}`,
    check: () => ({ up: open.directory.usable, details: details(open) }),
  }));
}

function details({ directory, problems }: OpenDirectory): Record<string, unknown> {
  const { mode, rows, lookedUp, revision, listening, ageMs, staleSince } = directory;
  return {
    mode,
    ...(rows !== undefined && { rows }),
    ...(mode === 'per_key' && { looked_up_keys: lookedUp }),
    revision,
    listening,
    age_ms: Number.isFinite(ageMs) ? Math.round(ageMs) : null,
    ...(staleSince && { stale_since: staleSince.toISOString() }),
    unknown_shard_rows: problems.count('unknown_shard'),
    unknown_group_rows: problems.count('unknown_group'),
    outside_group_rows: problems.count('outside_group'),
  };
}
