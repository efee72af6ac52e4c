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

/**
 * Why nothing may be reverted: a target that cannot, and shards that would not be in the same state behind it. On the way to
 * a name some may be further than others: they would revert the end of what others do, or nothing.
 */
export function planProblems(plans: readonly DownPlan[], to?: string): string[] {
  const broken = plans.flatMap(({ target, problem }) =>
    problem === undefined ? [] : [`${target.name}: ${problem}`],
  );
  if (broken.length > 0) return broken;
  const shards = plans.filter(({ target }) => target.shard !== undefined);
  const ways = new Map<string, string[]>();
  for (const plan of shards) {
    const way = namesOf(plan).join(', ') || 'nothing';
    ways.set(way, [...(ways.get(way) ?? []), plan.target.name]);
  }
  if (ways.size < 2 || (to !== undefined && areOneWay(shards))) return [];
  const list = [...ways].map(([way, names]) => `${names.join(', ')} would revert ${way}`).join('; ');
  return [
    `the shards are not in the same state: ${list}; migrate them to one state first, or choose a shard`,
  ];
}

function areOneWay(plans: readonly DownPlan[]): boolean {
  const [longest] = plans.toSorted((a, b) => b.revert.length - a.revert.length);
  return longest !== undefined && plans.every((plan) => isRestOf(plan, longest));
}

/** Whether one plan is what is left of another when some of it is done. */
export function isRestOf(rest: DownPlan, whole: DownPlan): boolean {
  const names = namesOf(rest);
  const all = namesOf(whole);
  return names.join() === all.slice(all.length - names.length).join();
}

const namesOf = ({ revert }: DownPlan) => revert.map(({ name }) => name);
