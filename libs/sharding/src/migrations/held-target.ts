import { applyStep, type Step } from './apply-migration.js';
import { patienceOf, waitOf } from './migration-limits.js';
import { closed, inSession, migrationDatabase, type MigrationSession } from './migration-session.js';
import type { MigrationTarget } from './migration-target.js';
import type { Done, TargetRun } from './target-run.js';

/** What is to be held, and where it is noted what lasts. */
export interface Held {
  readonly target: MigrationTarget;
  readonly run: TargetRun;
  readonly done: Done;
}

/** Runs `work` in one session that holds the lock of the target. @throws as {@link inSession}, and what `work` throws */
export async function holdTarget(held: Held, work: (target: HeldTarget) => Promise<void>): Promise<void> {
  const { target, run } = held;
  const database = migrationDatabase(run.settings, target.settings);
  try {
    await inSession(database, waitOf(target.name, run), (session) => work(new HeldTarget(session, held)));
  } finally {
    await closed(database);
  }
}

/** A target whose lock is held. */
export class HeldTarget {
  readonly target: MigrationTarget;

  constructor(
    readonly session: MigrationSession,
    private readonly held: Held,
  ) {
    this.target = held.target;
  }

  /** The migration whose step it is counts as applied, or reverted, once it is done. */
  async migration(step: Step): Promise<void> {
    await this.step(step);
    this.held.done.names.push(step.name);
  }

  /** The column whose step it is has its own ids once it is done. */
  async identity(column: string, step: Step): Promise<void> {
    await this.step(step);
    this.held.done.interleaved.push(column);
  }

  /** A step that fails is the one that is blamed, and no other. */
  async step(step: Step): Promise<void> {
    const { target, run, done } = this.held;
    done.step = step.name;
    await applyStep(this.session, step, patienceOf(target.name, run, step.name));
    done.step = undefined;
  }

  /** Whether anything was done here. */
  get changed(): boolean {
    const { names, interleaved } = this.held.done;
    return names.length + interleaved.length > 0;
  }

  log(text: string): void {
    this.held.run.log(`target=${this.target.name} ${text}`);
  }
}
