import { ShardingError } from '@app/routing';
import { fanOut } from '../shards/fan-out.js';
import { applyStep, undoStep } from './apply-migration.js';
import { patienceOf, waitOf, type MigrationLimits, type MigrationLog } from './migration-limits.js';
import {
  appliedIn,
  closed,
  inSession,
  migrationDatabase,
  type MigrationSession,
} from './migration-session.js';
import {
  assertSessions,
  migrationTargets,
  type MigrationTarget,
  type TargetChoice,
} from './migration-target.js';
import { planDown, planProblems, type DownPlan } from './plan-down.js';
import { migrationsTable, readApplied } from './read-applied.js';
import { runTargets, type RunOrder } from './run-targets.js';
import { failureText, MigrationFailed, targetFailure, type TargetResult } from './target-result.js';
import type { ShardingSettings } from '../sharding.settings.js';

export interface MigrateDownOptions extends TargetChoice, MigrationLimits, Pick<RunOrder, 'progress'> {
  /** The migration that stays the last one applied. Default: each target loses its last one. */
  readonly to?: string;
  /** Needed under the profile `production` or `prod`. */
  readonly production?: 'confirmed';
}

const PRODUCTION = ['production', 'prod'];
const WIDTH = 16;

/**
 * Takes migrations of the application back, the last first; the shards in reverse order, then control. Before anything is
 * touched every target is looked at: all must answer, know what they would revert, and all shards must revert the same.
 *
 * @returns one result a target, in the order in which they ran
 * @throws ShardingError `invalid_options` listing why nothing was touched; MigrationFailed with the results
 */
export async function migrateDown(
  settings: ShardingSettings,
  log: MigrationLog,
  options: MigrateDownOptions = {},
): Promise<readonly TargetResult[]> {
  assertConfirmed(settings, options);
  const targets = await migrationTargets(settings, options);
  assertSessions(targets);
  const plans = await plansOf(settings, targets, options.to);
  const causes = new Map<string, unknown>();
  const order = plans.map(({ target }) => target).toReversed();
  const results = await runTargets(order, { ...options, reversed: 'yes' }, (target) => {
    const plan = plans.find((one) => one.target === target) ?? { target, revert: [] };
    return revertTarget(plan, { settings, log, options, causes });
  });
  for (const { target, state } of results)
    if (state === 'not_attempted') log(`target=${target} not attempted`);
  const failed = results.find(({ state }) => state === 'failed');
  if (!failed) return results;
  throw new MigrationFailed(
    `reverting the migrations of ${failed.target} failed; mend the cause and run again with the name of the migration that is to stay`,
    results,
    causes.get(failed.target),
  );
}

function assertConfirmed({ profile }: ShardingSettings, { production }: MigrateDownOptions): void {
  if (profile === undefined || !PRODUCTION.includes(profile) || production === 'confirmed') return;
  throw new ShardingError(
    'invalid_options',
    `the profile is ${profile}: migrations are not taken back there unless that is confirmed (production: 'confirmed', --yes-i-mean-production)`,
  );
}

/** Reads every target, and refuses before anything is touched. */
async function plansOf(
  settings: ShardingSettings,
  targets: readonly MigrationTarget[],
  to: string | undefined,
): Promise<DownPlan[]> {
  const concerned = targets.filter(({ own }) => to === undefined || own.some(({ name }) => name === to));
  if (concerned.length === 0) {
    throw new ShardingError('invalid_options', `no target has a migration "${to}" in the code`);
  }
  const outcomes = await fanOut(concerned, WIDTH, async (target) => {
    const database = migrationDatabase(settings, target);
    try {
      const { own } = await appliedIn(database, settings, 2 * target.settings.connectTimeoutMs);
      return planDown(target, own, to);
    } finally {
      await closed(database);
    }
  });
  const plans = outcomes.map((outcome): DownPlan => {
    if (outcome.ok) return outcome.value;
    const { code, message } = targetFailure(outcome.error, undefined);
    return { target: outcome.shard, revert: [], problem: `${message} (${code})` };
  });
  const problems = planProblems(plans);
  if (problems.length === 0) return plans;
  throw new ShardingError('invalid_options', `nothing was reverted: ${problems.join('; ')}`);
}

interface Run {
  readonly settings: ShardingSettings;
  readonly log: MigrationLog;
  readonly options: MigrateDownOptions;
  readonly causes: Map<string, unknown>;
}

/** Never rejects. */
async function revertTarget(plan: DownPlan, run: Run): Promise<TargetResult> {
  const { target, revert } = plan;
  const began = performance.now();
  const names: string[] = [];
  const ended = (rest: Pick<TargetResult, 'state' | 'failure'>) =>
    told(run.log, { target: target.name, names, interleaved: [], ms: performance.now() - began, ...rest });
  if (revert.length === 0) return ended({ state: 'skipped' });
  const database = migrationDatabase(run.settings, target);
  try {
    await inSession(database, waitOf(target.name, run), (session) =>
      revertAll(session, { plan, run, names }),
    );
    return ended({ state: 'done' });
  } catch (error) {
    run.causes.set(target.name, error);
    return ended({ state: 'failed', failure: targetFailure(error, revert[names.length]?.name) });
  } finally {
    await closed(database);
  }
}

interface Work {
  readonly plan: DownPlan;
  readonly run: Run;
  readonly names: string[];
}

/** Looks again: whoever held the lock before may have changed what is applied. */
async function revertAll(session: MigrationSession, { plan, run, names }: Work): Promise<void> {
  const { own } = await readApplied(session.client, migrationsTable(run.settings));
  const now = planDown(plan.target, own, run.options.to);
  if (namesOf(now) !== namesOf(plan)) {
    throw new ShardingError('migration_failed', `${plan.target.name} was changed by somebody else meanwhile`);
  }
  for (const migration of plan.revert) {
    await applyStep(session, undoStep(migration), patienceOf(plan.target.name, run, migration.name));
    names.push(migration.name);
  }
}

const namesOf = ({ revert }: DownPlan) => revert.map(({ name }) => name).join();

function told(log: MigrationLog, result: TargetResult): TargetResult {
  const { target, state, names, failure } = result;
  if (state === 'skipped') log(`target=${target} nothing to revert`);
  if (names.length > 0) log(`target=${target} reverted ${names.join(', ')}`);
  if (failure) log(`target=${target} failed ${failureText(failure)}`);
  return result;
}
