import { readSchema } from '../../schema/read-schema.js';
import { differencesOf, EXISTS, schemaDifferences } from '../../schema/schema-differences.js';
import { check } from '../check.js';
import type { SchemaDifference } from '../../schema/schema-differences.js';
import type { SchemaObject, ShardSchema } from '../../schema/schema-object.js';
import type { Verdict } from '../finding.js';

/** All shards have the same schema. */
export const drift = check<SchemaObject[]>({
  name: 'drift',
  scope: 'deployment',
  read: (place, look, { settings }) =>
    place.role === 'primary' && place.shard !== undefined && settings.shards.length > 1
      ? look.alone(readSchema)
      : undefined,
  judge: (found) => driftVerdicts(found.map(({ place, facts }) => ({ shard: place.label, objects: facts }))),
});

/** So many differences are named; the rest is counted. */
const NAMED = 3;

/** One finding for each shard that is not as most are. Where no value is in the majority, that of the first shard is usual. */
export function driftVerdicts(schemas: readonly ShardSchema[]): Verdict[] {
  const differences = schemaDifferences(schemas).map(withUsual);
  return schemas.flatMap(({ shard }) => {
    const own = differencesOf(shard, differences);
    if (own.length === 0) return [];
    const named = own.slice(0, NAMED).map(nameOf).join('; ');
    const more = own.length > NAMED ? `; ${own.length - NAMED} more` : '';
    return [
      {
        severity: 'warning',
        target: shard,
        reason: `its schema is not that of the other shards: ${named}${more}`,
        remedy: 'see all of it with shardctl schema diff, and bring the shards together by a migration',
      },
    ];
  });
}

function withUsual(difference: SchemaDifference): SchemaDifference {
  const [first = null, ...rest] = difference.odd;
  return difference.majority ? difference : { ...difference, majority: first, odd: rest };
}

function nameOf({ kind, name, property, majority }: SchemaDifference): string {
  if (property !== EXISTS) return `${kind} ${name} (${property})`;
  return `${kind} ${name} (${majority?.value === true ? 'missing' : 'only here'})`;
}
