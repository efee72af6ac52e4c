import type { NamedMigration } from './migration-list.js';
import type { MigrationTarget } from './migration-target.js';

/** What one target would revert, in that order. */
export interface DownPlan {
  readonly target: MigrationTarget;
  readonly revert: readonly NamedMigration[];
  /** Why it cannot be done. */
  readonly problem?: string;
}

/**
 * @param applied names in the order in which they were applied
 * @param to the one that stays the last; undefined: the last one goes
 */
export function planDown(target: MigrationTarget, applied: readonly string[], to?: string): DownPlan {
  const place = to === undefined ? applied.length - 2 : applied.indexOf(to);
  if (to !== undefined && place < 0) return { target, revert: [], problem: `${to} is not applied there` };
  const names = applied.slice(Math.max(0, place + 1)).toReversed();
  const known = new Map(target.own.map((migration) => [migration.name, migration]));
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0) {
    return { target, revert: [], problem: `${unknown.join(', ')} is applied there and not in the code` };
  }
  return { target, revert: names.flatMap((name) => known.get(name) ?? []) };
}

/** Why nothing may be reverted: a target that cannot, and shards that would revert different things. */
export function planProblems(plans: readonly DownPlan[]): string[] {
  const broken = plans.flatMap(({ target, problem }) =>
    problem === undefined ? [] : [`${target.name}: ${problem}`],
  );
  if (broken.length > 0) return broken;
  const shards = plans.filter(({ target }) => target.shard !== undefined);
  const ways = new Map<string, string[]>();
  for (const { target, revert } of shards) {
    const way = revert.map(({ name }) => name).join(', ') || 'nothing';
    ways.set(way, [...(ways.get(way) ?? []), target.name]);
  }
  if (ways.size < 2) return [];
  const list = [...ways].map(([way, names]) => `${names.join(', ')} would revert ${way}`).join('; ');
  return [
    `the shards are not in the same state: ${list}; migrate them to one state first, or choose a shard`,
  ];
}
