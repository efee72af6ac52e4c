import { ShardingError } from '@app/routing';
import { failureCode } from '../shards/database-failure.js';
import { failureMessage } from './failure-message.js';

/** What came of one target: `skipped` had nothing to do, `not_attempted` came behind a failure. */
export type TargetState = 'done' | 'skipped' | 'failed' | 'not_attempted';

/** Why a target failed. */
export interface TargetFailure {
  /** SQLSTATE, code of the system, or of a `ShardingError`. */
  readonly code: string;
  readonly message: string;
  /** The migration that failed, where it was one. */
  readonly migration?: string;
}

export interface TargetResult {
  /** `control` or `shard:<name>`. */
  readonly target: string;
  readonly state: TargetState;
  /** The names of what was applied, or reverted, by this call; of a failed target what lasts. */
  readonly names: readonly string[];
  /** Columns whose generated ids were set apart from those of other shards: `public.notes.id`. */
  readonly interleaved: readonly string[];
  readonly ms: number;
  readonly failure?: TargetFailure;
}

/** `migration_failed` with what came of every target. */
export class MigrationFailed extends ShardingError {
  constructor(
    message: string,
    /** In the order of the targets. */
    readonly targets: readonly TargetResult[],
    cause: unknown,
  ) {
    super('migration_failed', message, { cause });
  }
}

/** A failure by its code and a message without row content, URL and password. */
export function targetFailure(error: unknown, migration: string | undefined): TargetFailure {
  return {
    code: codeOf(error),
    message: failureMessage(error),
    ...(migration !== undefined && { migration }),
  };
}

function codeOf(error: unknown): string {
  if (error instanceof ShardingError) return failureCode(error.cause) ?? error.code;
  return failureCode(error) ?? (error instanceof Error ? error.name : 'unknown');
}

/** For the log. */
export function failureText({ migration, code, message }: TargetFailure): string {
  return `${migration === undefined ? '' : `in ${migration} `}(${code}): ${message}`;
}
