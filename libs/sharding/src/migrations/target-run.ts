import { ShardingError } from '@app/routing';
import { endedBy } from './abort-limit.js';
import { failureText, targetFailure, type TargetResult } from './target-result.js';
import type { ShardingSettings } from '../sharding.settings.js';
import type { MigrationLimits, MigrationLog } from './migration-limits.js';
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
  isDone(): boolean | Promise<boolean>;
  /** Looks again: whoever held the lock before may have changed what there is to do. */
  run(done: Done): Promise<void>;
}

/** Does the work of one target where there is any, and tells the log what came of it. Never rejects. */
export async function runTarget(
  target: MigrationTarget,
  run: TargetRun,
  work: TargetWork,
): Promise<TargetResult> {
  const began = performance.now();
  const done: Done = { names: [], interleaved: [], step: undefined };
  const attempted = attempt({ run, work, done });
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
async function attempt({ run, work, done }: Attempt): Promise<TargetEnd> {
  try {
    if (await work.isDone()) return { state: 'skipped' };
    await work.run(done);
    return { state: done.names.length + done.interleaved.length > 0 ? 'done' : 'skipped' };
  } catch (error) {
    return { state: 'failed', error: run.options.signal?.aborted ? interrupted() : error };
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
export interface Done {
  readonly names: string[];
  readonly interleaved: string[];
  step: string | undefined;
}
