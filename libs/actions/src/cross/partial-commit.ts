import { ShardingError } from '@app/routing';

/** How far an action over several shards has come, by the names of shards. */
export interface PartialProgress {
  readonly actionId: string;
  readonly action: string;
  readonly committed: readonly string[];
  readonly failed: string;
  readonly notAttempted: readonly string[];
}

/**
 * An action over several shards was committed on some of them. What is missing is stored there:
 * `shardctl actions retry` completes it, `compensate` undoes what was committed. `perform` never runs again.
 */
export class PartialCommit extends ShardingError {
  override readonly name = 'PartialCommit';
  /** For `shardctl actions`. */
  readonly actionId: string;
  readonly committed: readonly string[];
  readonly failed: string;
  readonly notAttempted: readonly string[];

  constructor(progress: PartialProgress, cause: unknown) {
    const { actionId, action, committed, failed, notAttempted } = progress;
    const rest = notAttempted.length > 0 ? `, not attempted on ${list(notAttempted)}` : '';
    super(
      'partial_commit',
      `action ${action} was committed on ${list(committed)} and has failed on ${list([failed])}${rest}: "shardctl actions retry ${actionId}" completes it, "compensate" undoes it`,
      { cause },
    );
    this.actionId = actionId;
    this.committed = committed;
    this.failed = failed;
    this.notAttempted = notAttempted;
  }
}

export function list(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}
