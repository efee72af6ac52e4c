import type { HealthComponent } from '../health-components.js';
import type { OpenDirectory } from './directory-connection.js';

/** The component `db:directory`: down where keys cannot be routed. While an old snapshot serves it is up, and says so. */
export function directoryHealth(opened: readonly OpenDirectory[]): HealthComponent[] {
  return opened.map((open, index) => ({
    key: index === 0 ? 'db:directory' : `db:directory:${index + 1}`,
    check: () => ({ up: open.directory.usable, details: details(open) }),
  }));
}

function details({ directory, problems }: OpenDirectory): Record<string, unknown> {
  const { mode, rows, revision, listening, ageMs, staleSince } = directory;
  return {
    mode,
    rows,
    revision,
    listening,
    age_ms: Number.isFinite(ageMs) ? Math.round(ageMs) : null,
    ...(staleSince && { stale_since: staleSince.toISOString() }),
    unknown_shard_rows: problems.count('unknown_shard'),
    unknown_group_rows: problems.count('unknown_group'),
    outside_group_rows: problems.count('outside_group'),
  };
}
