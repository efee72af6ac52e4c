import { ShardingError } from '@app/routing';
import { endedBy } from './abort-limit.js';
import { applyStep, type Step } from './apply-migration.js';
import { patienceOf, waitOf, type MigrationLimits, type MigrationLog } from './migration-limits.js';
import { closed, inSession, migrationDatabase, type MigrationSession } from './migration-session.js';
import { failureText, targetFailure, type TargetResult } from './target-result.js';
import type { Database } from '../shards/database.js';
import type { ShardingSettings } from '../sharding.settings.js';
import type { MigrationTarget } from './migration-target.js';

/** What all targets of one call have in common. */
export interface TargetRun {
  readonly settings: ShardingSettings;
  readonly log: MigrationLog;
  readonly options: MigrationLimits;
  /** Filled with what the failed targets threw. */
  readonly causes: Map<string, unknown>;
}

/** What is to be done on one target. */
interface TargetWork {
  /** What has then happened to its migrations, and what is said where nothing has. */
  readonly words: { readonly did: 'applied' | 'reverted'; readonly nothing: string };
  /** Decided without the lock, which is then not taken. */
  isDone(database: Database): boolean | Promise<boolean>;
  /** Looks again: whoever held the lock before may have changed what there is to do. */
  run(held: HeldTarget): Promise<void>;
}

/** Does the work of one target on one session that holds its lock, and tells the log what came of it. Never rejects. */
export async function runTarget(
  target: MigrationTarget,
  run: TargetRun,
  work: TargetWork,
): Promise<TargetResult> {
  const began = performance.now();
  const done: Done = { names: [], interleaved: [], step: undefined };
  const attempted = attempt(target, { run, work, done });
  const { state, error } = (await endedBy(attempted, run.options.signal)) ?? UNHEARD;
  if (error !== undefined) run.causes.set(target.name, error);
  const result = {
    target: target.name,
    state,
    names: [...done.names],
    interleaved: [...done.interleaved],
    ms: performance.now() - began,
    ...(error !== undefined && { failure: targetFailure(error, done.step) }),
  };
  tell(run.log, work.words, result);
  return result;
}

interface TargetEnd {
  readonly state: 'done' | 'skipped' | 'failed';
  readonly error?: unknown;
}

interface Attempt {
  readonly run: TargetRun;
  readonly work: TargetWork;
  readonly done: Done;
}

/** Never rejects. */
async function attempt(target: MigrationTarget, { run, work, done }: Attempt): Promise<TargetEnd> {
  const database = migrationDatabase(run.settings, target);
  try {
    if (await work.isDone(database)) return { state: 'skipped' };
    await inSession(database, waitOf(target.name, run), (session) =>
      work.run(new HeldTarget(session, { target, run, done })),
    );
    return { state: done.names.length + done.interleaved.length > 0 ? 'done' : 'skipped' };
  } catch (error) {
    return { state: 'failed', error: run.options.signal?.aborted ? interrupted() : error };
  } finally {
    await closed(database);
  }
}

const UNHEARD: TargetEnd = {
  state: 'failed',
  error: new ShardingError(
    'aborted',
    'interrupted; what ran there has not ended in time: look at the status of the migrations',
  ),
};

/** In place of what the interrupt made of the session, which says nothing of the database. */
function interrupted(): ShardingError {
  return new ShardingError('aborted', 'interrupted; its transaction is rolled back: run again to go on');
}

function tell(log: MigrationLog, { did, nothing }: TargetWork['words'], result: TargetResult): void {
  const { target, state, names, interleaved, failure } = result;
  if (state === 'skipped') log(`target=${target} ${nothing}`);
  if (names.length > 0) log(`target=${target} ${did} ${names.join(', ')}`);
  if (interleaved.length > 0) log(`target=${target} interleaved the ids of ${interleaved.join(', ')}`);
  if (failure) log(`target=${target} failed ${failureText(failure)}`);
}

/** What lasts, and the name of what is under way. */
interface Done {
  readonly names: string[];
  readonly interleaved: string[];
  step: string | undefined;
}

interface Held {
  readonly target: MigrationTarget;
  readonly run: TargetRun;
  readonly done: Done;
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
