import { ShardingError } from '@app/routing';
import { fanOut } from '../shards/fan-out.js';
import { undoStep } from './apply-migration.js';
import { appliedIn } from './asking.js';
import { holdTarget, type HeldTarget } from './held-target.js';
import {
  assertSessions,
  migrationTargets,
  type MigrationTarget,
  type TargetChoice,
} from './migration-target.js';
import { isRestOf, planDown, planProblems, type DownPlan } from './plan-down.js';
import { migrationsTable, readApplied } from './read-applied.js';
import { runTargets, type RunOrder } from './run-targets.js';
import { targetFailure, type TargetResult } from './target-result.js';
import { runTarget, type TargetRun } from './target-run.js';
import type { ShardingSettings } from '../sharding.settings.js';
import type { MigrationLimits, MigrationLog } from './migration-limits.js';

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
  const again =
    options.to === undefined
      ? 'again with the name of the migration that is to stay'
      : 'the same again, which goes on from there';
  const failed = (names: string) =>
    `reverting the migrations of ${names} failed; mend the cause and run ${again}`;
  return runTargets(order, { ...options, reversed: 'yes', log, causes, failed }, (target) => {
    const plan = plans.find((one) => one.target === target) ?? { target, revert: [] };
    return revertTarget(plan, { settings, log, options, causes });
  });
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
    const { own } = await appliedIn(settings, target.settings);
    return planDown(target, own, to);
  });
  const plans = outcomes.map((outcome): DownPlan => {
    if (outcome.ok) return outcome.value;
    const { code, message } = targetFailure(outcome.error, undefined);
    return {
      target: outcome.shard,
      revert: [],
      problem: message.endsWith(`(${code})`) ? message : `${message} (${code})`,
    };
  });
  const problems = planProblems(plans, to);
  if (problems.length === 0) return plans;
  throw new ShardingError('invalid_options', `nothing was reverted: ${problems.join('; ')}`);
}

interface DownRun extends TargetRun {
  readonly options: MigrateDownOptions;
}

/** Never rejects. */
function revertTarget(plan: DownPlan, run: DownRun): Promise<TargetResult> {
  return runTarget(plan.target, run, {
    words: { did: 'reverted', nothing: 'nothing to revert' },
    isDone: () => plan.revert.length === 0,
    run: (done) => holdTarget({ target: plan.target, run, done }, (held) => revertAll(held, plan, run)),
  });
}

/** On the way to a name somebody else may have done a part of it, or all. */
async function revertAll(held: HeldTarget, plan: DownPlan, run: DownRun): Promise<void> {
  const { to } = run.options;
  const { own } = await readApplied(held.session.client, migrationsTable(run.settings));
  const now = planDown(plan.target, own, to);
  const isSame = now.revert.length === plan.revert.length;
  if (now.problem !== undefined || !isRestOf(now, plan) || !(isSame || to !== undefined)) {
    throw new ShardingError('migration_failed', `${plan.target.name} was changed by somebody else meanwhile`);
  }
  for (const migration of now.revert) await held.migration(undoStep(migration));
}
