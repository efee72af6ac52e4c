import { table } from '../output/table.js';
import { choiceOf, problemText } from './migrate-results.js';
import type { TargetStatus } from '@app/sharding/operator';
import type { Style } from '../output/style.js';
import type { Report, Session } from '../verb.js';
import type { MigrateOptions } from './migrate.js';

export async function migrateStatus(options: MigrateOptions, session: Session): Promise<Report> {
  const settings = await session.settings();
  const { migrator } = await import('@app/sharding/operator');
  const { migrationStatus } = await migrator();
  const found = await migrationStatus(settings, choiceOf(options));
  return {
    json: {
      targets: found.map(({ target, ok, applied, pending, unknown, last, invalidIndexes, failure }) => ({
        target,
        ok,
        applied,
        pending,
        unknown,
        last: last ?? null,
        invalid_indexes: invalidIndexes,
        error: failure ?? null,
      })),
    },
    text: (style) => statusText(found, style),
    outcome: found.every(({ ok }) => ok) ? 'ok' : 'failed',
  };
}

/** A row for each target, and below it the names that a row has no room for. */
export function statusText(found: readonly TargetStatus[], style?: Style): string {
  const headings = ['target', 'state', 'applied', 'pending', 'unknown', 'last', 'invalid indexes', 'problem'];
  const rows = found.map((status) => {
    const { target, applied, pending, unknown, last, invalidIndexes, failure } = status;
    if (failure) return [target, 'UNREACHABLE', null, null, null, null, null, problemText(failure)];
    return [
      target,
      stateOf(status),
      applied.length,
      pending.length,
      unknown.length,
      last,
      invalidIndexes.join(', ') || null,
      null,
    ];
  });
  return [table(headings, rows, style), ...found.flatMap((status) => namesOf(status))].join('\n');
}

function stateOf({ ok, pending, unknown }: TargetStatus): string {
  if (ok) return 'up to date';
  if (pending.length > 0) return 'PENDING';
  return unknown.length > 0 ? 'UNKNOWN' : 'INVALID INDEX';
}

function namesOf({ target, pending, unknown }: TargetStatus): string[] {
  return [
    ...(pending.length > 0 ? [`pending on ${target}: ${pending.join(', ')}`] : []),
    ...(unknown.length > 0 ? [`applied on ${target} and not in the code: ${unknown.join(', ')}`] : []),
  ];
}
