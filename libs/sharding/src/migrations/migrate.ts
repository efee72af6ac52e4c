import { ShardingError } from '@app/routing';
import { applyStep, frameworkStep, ownStep, type Step } from './apply-migration.js';
import { patienceOf, waitOf, type MigrationLimits, type MigrationLog } from './migration-limits.js';
import { appliedIn, closed, inSession, migrationDatabase } from './migration-session.js';
import { assertSessions, migrationTargets } from './migration-target.js';
import { differenceOf, migrationsTable, readApplied, type Applied } from './read-applied.js';
import { runTargets } from './run-targets.js';
import { failureText, MigrationFailed, targetFailure } from './target-result.js';
import type { ShardingSettings } from '../sharding.settings.js';
import type { MigrationSession } from './migration-session.js';
import type { MigrationTarget, TargetChoice } from './migration-target.js';
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
 * meanwhile: two migrators never meet.
 *
 * @returns one result a target, in their order; all `done` or `skipped` but for those behind a canary that was not
 * confirmed, and those that `unreachable: 'skip'` passed over
 * @throws MigrationFailed (`migration_failed`) with the results; ShardingError `invalid_options` and `unknown_shard` before
 * anything was touched
 */
export async function migrate(
  settings: ShardingSettings,
  log: MigrationLog,
  options: MigrateOptions = {},
): Promise<readonly TargetResult[]> {
  const targets = await migrationTargets(settings, options);
  assertSessions(targets);
  const causes = new Map<string, unknown>();
  const skips = ({ target }: TargetResult) =>
    options.unreachable === 'skip' && isUnreachable(causes.get(target));
  const results = await runTargets(targets, { ...options, stopsAt: (result) => !skips(result) }, (target) =>
    migrateTarget(target, { settings, log, options, causes }),
  );
  for (const { target, state } of results)
    if (state === 'not_attempted') log(`target=${target} not attempted`);
  const failed = results.filter((result) => result.state === 'failed' && !skips(result));
  const [first] = failed;
  if (!first) return results;
  throw new MigrationFailed(
    `the migrations of ${failed.map(({ target }) => target).join(', ')} failed; mend the cause and run again: targets before it are skipped`,
    results,
    causes.get(first.target),
  );
}

function isUnreachable(error: unknown): boolean {
  return error instanceof ShardingError && error.code === 'shard_unavailable';
}

interface Run {
  readonly settings: ShardingSettings;
  readonly log: MigrationLog;
  readonly options: MigrationLimits;
  /** Filled with what the failed targets threw. */
  readonly causes: Map<string, unknown>;
}

/** Never rejects. */
async function migrateTarget(target: MigrationTarget, run: Run): Promise<TargetResult> {
  const { log, causes, settings } = run;
  const began = performance.now();
  const names: string[] = [];
  const at: { step?: string } = {};
  const database = migrationDatabase(settings, target);
  try {
    const limitMs = 2 * target.settings.connectTimeoutMs;
    if (stepsOf(target, await appliedIn(database, settings, limitMs)).length > 0) {
      await inSession(database, waitOf(target.name, run), (session) =>
        applyAll(session, { target, run, names, at }),
      );
    }
    const state = names.length === 0 ? 'skipped' : 'done';
    return told(log, { target: target.name, state, names, ms: performance.now() - began });
  } catch (error) {
    causes.set(target.name, error);
    const failure = targetFailure(error, at.step);
    return told(log, { target: target.name, state: 'failed', names, ms: performance.now() - began, failure });
  } finally {
    await closed(database);
  }
}

function told(log: MigrationLog, result: TargetResult): TargetResult {
  const { target, state, names, failure } = result;
  if (state === 'skipped') log(`target=${target} up to date`);
  if (names.length > 0) log(`target=${target} applied ${names.join(', ')}`);
  if (failure) log(`target=${target} failed ${failureText(failure)}`);
  return result;
}

interface Work {
  readonly target: MigrationTarget;
  readonly run: Run;
  readonly names: string[];
  readonly at: { step?: string };
}

/** Looks again: whoever held the lock before may have done it. */
async function applyAll(session: MigrationSession, { target, run, names, at }: Work): Promise<void> {
  const applied = await readApplied(session.client, migrationsTable(run.settings));
  for (const step of stepsOf(target, applied)) {
    at.step = step.name;
    await applyStep(session, step, patienceOf(target.name, run, step.name));
    names.push(step.name);
    delete at.step;
  }
}

function stepsOf(target: MigrationTarget, applied: Applied): Step[] {
  const pending = new Set(differenceOf(target, applied).pending);
  return [...target.framework.map(frameworkStep), ...target.own.map(ownStep)].filter(({ name }) =>
    pending.has(name),
  );
}
