import { choiceOf, failedReport, limitsOf, resultsReport } from './migrate-results.js';
import { showProgress } from './migrate-progress.js';
import type { Report, Session } from '../verb.js';
import type { MigrateOptions } from './migrate.js';

export async function migrateDown(options: MigrateOptions, session: Session): Promise<Report> {
  const settings = await session.settings();
  const operator = await import('@app/sharding/operator');
  const { migrateDown: revert, MigrationFailed } = await operator.migrator();
  const shown = showProgress(session.told);
  try {
    const results = await revert(settings, shown.log, {
      ...choiceOf(options),
      ...limitsOf(options, session.signal),
      ...(options.to !== undefined && { to: options.to }),
      ...(options.yesIMeanProduction && { production: 'confirmed' }),
      progress: shown.progress,
    });
    return resultsReport(results, 'reverted', []);
  } catch (error) {
    if (!(error instanceof MigrationFailed)) throw error;
    const again = options.to === undefined ? 'look at migrate status, and say --to' : 'run again to go on';
    return failedReport(error, 'reverted', { signal: session.signal, again });
  } finally {
    shown.end();
  }
}
