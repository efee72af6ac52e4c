import { ShardingError } from '@app/routing';
import { endedBy } from './abort-limit.js';
import { identityPlans } from './identity-plans.js';
import { isUpToDate } from './look-at-target.js';
import { LooksAhead } from './looks-ahead.js';
import { migrateTarget, type LoadMigrateHeld } from './migrate-target.js';
import { assertSessions, migrationTargets } from './migration-target.js';
import { runTargets } from './run-targets.js';
import type { ShardingSettings } from '../sharding.settings.js';
import type { MigrationLimits, MigrationLog } from './migration-limits.js';
import type { TargetChoice } from './migration-target.js';
import type { RunOrder } from './run-targets.js';
import type { TargetResult } from './target-result.js';

export interface MigrateOptions
  extends TargetChoice, Omit<RunOrder, 'stopsAt' | 'reversed'>, MigrationLimits {
  /** A target that cannot be reached: `fail` (default) stops there, `skip` goes on with the others. */
  readonly unreachable?: 'fail' | 'skip';
}

/**
 * Runs the migrations on every target: control, then the shards in declaration order; on each the library's own come
 * first. Stops at the first failure; what is already applied is skipped, so the same call again goes on where it
 * stopped. One transaction per migration, none for one with `transaction = false`. Each target is held by a lock
 * meanwhile: two migrators never meet. Generated `bigint` ids are interleaved: no two shards give the same one.
 *
 * @returns one result a target, in their order; all `done` or `skipped` but for those behind a canary that was not
 * confirmed, and those that `unreachable: 'skip'` passed over
 * @throws MigrationFailed (`migration_failed`) with the results; ShardingError `invalid_options` and `unknown_shard` before
 * anything was touched
 */
export function migrate(
  settings: ShardingSettings,
  log: MigrationLog,
  options: MigrateOptions = {},
): Promise<readonly TargetResult[]> {
  return migrateWith(() => import('./migrate-held.js'), { settings, log, options });
}

interface Call {
  readonly settings: ShardingSettings;
  readonly log: MigrationLog;
  readonly options: MigrateOptions;
}

/** The same for who has something to do when NestJS is loaded, if it is. */
export async function migrateWith(load: LoadMigrateHeld, call: Call): Promise<readonly TargetResult[]> {
  const { settings, log, options } = call;
  const targets = await migrationTargets(settings, options);
  assertSessions(targets);
  const causes = new Map<string, unknown>();
  const looks = new LooksAhead((target) => isUpToDate({ target, settings }));
  const run = { ...call, causes, load, looks, identities: identityPlans(settings) };
  const stopsAt = ({ target }: TargetResult) =>
    options.unreachable !== 'skip' || !isUnreachable(causes.get(target));
  const failed = (names: string) =>
    `the migrations of ${names} failed; mend the cause and run again: targets before it are skipped`;
  try {
    return await runTargets(targets, { ...options, stopsAt, log, causes, failed }, (target, following) =>
      migrateTarget(target, following, run),
    );
  } finally {
    await endedBy(looks.settled(), options.signal);
  }
}

function isUnreachable(error: unknown): boolean {
  return error instanceof ShardingError && error.code === 'shard_unavailable';
}
