import { connectingProblem } from '../failure.js';
import { table } from '../output/table.js';
import type {
  MigrationFailed,
  MigrationLimits,
  TargetChoice,
  TargetFailure,
  TargetResult,
} from '@app/sharding/operator';
import type { Report } from '../verb.js';
import type { MigrateOptions } from './migrate.js';

export function choiceOf({ shard, controlOnly }: MigrateOptions): TargetChoice {
  return { ...(shard !== undefined && { shard }), ...(controlOnly && { only: 'control' }) };
}

export function limitsOf({ wait, lockTimeout }: MigrateOptions, signal: AbortSignal): MigrationLimits {
  return {
    signal,
    ...(wait !== undefined && { waitMs: Math.ceil(wait * 1000) }),
    ...(lockTimeout !== undefined && { lockTimeoutMs: lockTimeout }),
  };
}

/** @param did what happened to the migrations of a target */
export function resultsReport(
  results: readonly TargetResult[],
  did: 'applied' | 'reverted',
  notes: readonly string[],
): Report {
  return {
    json: {
      targets: results.map(({ target, state, names, interleaved, ms, failure }) => ({
        target,
        state,
        [did]: names,
        ...(did === 'applied' && { interleaved }),
        ms: Math.round(ms),
        error: failure ?? null,
      })),
    },
    text: (style) => {
      const rows = results.map(({ target, state, names, ms, failure }) => [
        target,
        state === 'failed' ? 'FAILED' : state.replace('_', ' '),
        names.length,
        state === 'not_attempted' ? null : `${Math.round(ms)} ms`,
        failure && problemText(failure),
      ]);
      return table(['target', 'state', did, 'time', 'problem'], rows, style);
    },
    outcome: results.every(({ state }) => state === 'done' || state === 'skipped') ? 'ok' : 'failed',
    notes,
  };
}

/** @param again what goes on from there, after an interrupt */
export function failedReport(
  error: MigrationFailed,
  did: 'applied' | 'reverted',
  { signal, again }: { readonly signal: AbortSignal; readonly again: string },
): Report {
  if (!signal.aborted) return { ...resultsReport(error.targets, did, []), error };
  return resultsReport(error.targets, did, [`interrupted; what is done stays: ${again}`]);
}

export function problemText({ migration, message, code }: TargetFailure): string {
  const said = connectingProblem(code) ?? message;
  return `${migration === undefined ? '' : `${migration}: `}${said} (${code})`;
}
