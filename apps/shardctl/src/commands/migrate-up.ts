import { canConfirm, confirm } from '../confirm.js';
import { UsageError, type Report, type Session } from '../verb.js';
import { choiceOf, failedReport, limitsOf, resultsReport } from './migrate-results.js';
import { showProgress } from './migrate-progress.js';
import type { ShardingSettings } from '@app/sharding/config';
import type { TargetResult } from '@app/sharding/operator';
import type { MigrateOptions } from './migrate.js';

export async function migrateUp(options: MigrateOptions, session: Session): Promise<Report> {
  const { canary, yes, parallel } = options;
  const asks = canary !== undefined && yes === undefined;
  if (asks && !canConfirm()) {
    throw new UsageError('--canary asks before it goes on, and nobody can answer here: say --yes');
  }
  const settings = await session.settings();
  const { migrator } = await import('@app/sharding/operator');
  const { migrate, MigrationFailed } = await migrator();
  const shown = showProgress(session.told);
  try {
    const results = await migrate(settings, shown.log, {
      ...choiceOf(options),
      ...limitsOf(options, session.signal),
      ...(parallel !== undefined && { parallel }),
      ...(canary !== undefined && { canary }),
      ...(asks && {
        afterCanary: (result) => {
          shown.end();
          return confirmed(result, session.signal);
        },
      }),
      progress: shown.progress,
    });
    return resultsReport(results, 'applied', notesOf(results, settings));
  } catch (error) {
    if (!(error instanceof MigrationFailed)) throw error;
    return failedReport(error, 'applied', { signal: session.signal, again: 'run again to go on' });
  } finally {
    shown.end();
  }
}

/** An interrupt is a no: the summary tells what is done. */
async function confirmed({ target, names }: TargetResult, signal: AbortSignal): Promise<boolean> {
  const did = names.length === 0 ? 'was up to date' : `has ${names.length} more`;
  return confirm(`the canary ${target} ${did}; go on with the others?`, signal).catch((error: unknown) => {
    if (signal.aborted) return false;
    throw error;
  });
}

function notesOf(results: readonly TargetResult[], { migrations }: ShardingSettings): string[] {
  const left = results.filter(({ state }) => state === 'not_attempted').length;
  const none = migrations.control.length + migrations.shards.length === 0;
  return [
    ...(left > 0 ? [`stopped behind the canary: ${left} not attempted; run again to go on`] : []),
    ...(none
      ? ['only the tables of the framework: no migrations are named under [migrations], control and shards']
      : []),
  ];
}
