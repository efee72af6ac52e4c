import {
  differenceOf,
  migrationsTable,
  readApplied,
  type Applied,
} from '../../../migrations/read-applied.js';
import { check, type DoctorContext } from '../check.js';
import type { MigrationTarget } from '../../../migrations/migration-target.js';
import type { Verdict } from '../finding.js';
import type { Place } from '../../place.js';

/** Every database has the migrations of this code and this library, and no others. */
export const migrations = check<Applied>({
  name: 'migrations',
  scope: 'target',
  read: (place, look, { settings }) => {
    if (place.role === 'replica') return undefined;
    const table = migrationsTable(settings);
    return look.read((client) => readApplied(client, table));
  },
  judge: (found, context) =>
    found.flatMap(({ place, facts }) => {
      const target = context.migrations.get(place.isControl ? 'control' : place.label);
      return target ? migrationVerdicts(caseOf(place, target, context), facts) : [];
    }),
});

export interface MigrationCase {
  readonly target: string;
  /** What the code has for it. */
  readonly code: Pick<MigrationTarget, 'framework' | 'own'>;
  /** The configuration uses tables of the library there. */
  readonly needsFramework: boolean;
  readonly whenPending: 'refuse' | 'warn';
}

function caseOf(place: Place, code: MigrationTarget, { settings }: DoctorContext): MigrationCase {
  const { directory, topology, slotMapGuard, unsharded } = settings;
  const guarded = !unsharded && (topology.autoSplit || slotMapGuard === 'strict');
  return {
    target: place.label,
    code,
    needsFramework: place.isControl && (directory.enabled || guarded),
    whenPending: settings.migrations.pendingMigrations,
  };
}

/** The library's own are missed where something uses them, where the application has migrations, or where some are applied. */
export function migrationVerdicts(given: MigrationCase, applied: Applied): Verdict[] {
  const { code, needsFramework } = given;
  const framework = difference({ ...code, own: [] }, { ...applied, own: [] });
  const own = difference({ ...code, framework: [] }, { ...applied, framework: [] });
  const wanted = needsFramework || code.own.length > 0 || applied.framework !== undefined;
  return [
    ...pending(given, [...(wanted ? framework.pending : []), ...own.pending]),
    ...newer(given, framework.unknown),
    ...unknown(given, own.unknown),
  ];
}

function difference(code: Pick<MigrationTarget, 'framework' | 'own'>, applied: Applied) {
  return differenceOf(code as MigrationTarget, applied);
}

function pending({ target, whenPending }: MigrationCase, names: readonly string[]): Verdict[] {
  if (names.length === 0) return [];
  const refused = whenPending === 'refuse';
  return [
    {
      severity: refused ? 'error' : 'warning',
      target,
      reason: `lacks migrations: ${names.join(', ')}${refused ? '; the application does not boot' : ''}`,
      remedy: 'run them: shardctl migrate',
    },
  ];
}

function newer({ target }: MigrationCase, names: readonly string[]): Verdict[] {
  if (names.length === 0) return [];
  return [
    {
      severity: 'warning',
      target,
      reason: `has migrations of the library that this version does not know: ${names.join(', ')}`,
      remedy: 'use the newer version of nestjs-sharding, with which it was migrated',
    },
  ];
}

/** An application may name its migrations in code, where nobody outside of it sees them. */
function unknown({ target, code }: MigrationCase, names: readonly string[]): Verdict[] {
  if (names.length === 0) return [];
  if (code.own.length === 0) {
    return [
      {
        severity: 'info',
        target,
        reason: `has ${names.length} ${names.length === 1 ? 'migration' : 'migrations'} of the application, of which this configuration names none: what is pending is not known`,
        remedy: 'name the compiled files under [migrations], control and shards',
      },
    ];
  }
  return [
    {
      severity: 'warning',
      target,
      reason: `has migrations that the code does not know: ${names.join(', ')}`,
      remedy: 'deploy the code that they came with, or revert them with it (shardctl migrate down)',
    },
  ];
}
