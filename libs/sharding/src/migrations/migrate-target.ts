import { runTarget } from './target-run.js';
import type { LooksAhead } from './looks-ahead.js';
import type { migrateHeld, MigrationRun } from './migrate-held.js';
import type { MigrationTarget } from './migration-target.js';
import type { TargetResult } from './target-result.js';

/** What loads what a target is migrated with, TypeORM and NestJS among it: not before something is pending. */
export type LoadMigrateHeld = () => Promise<{ readonly migrateHeld: typeof migrateHeld }>;

/** What all targets of one call have in common. */
interface Run extends MigrationRun {
  readonly load: LoadMigrateHeld;
  readonly looks: LooksAhead;
}

/**
 * Brings one target to the state of the code. Takes no lock where nothing is to be done. Never rejects.
 *
 * @param following those whose turn comes after it
 */
export function migrateTarget(
  target: MigrationTarget,
  following: readonly MigrationTarget[],
  run: Run,
): Promise<TargetResult> {
  return runTarget(target, run, {
    words: { did: 'applied', nothing: 'up to date' },
    isDone: () => run.looks.isDone(target, following),
    run: async (done) => (await run.load()).migrateHeld(target, run, done),
  });
}
