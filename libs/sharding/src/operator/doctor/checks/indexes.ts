import { indexFacts, type IndexFacts } from '../catalog/index-facts.js';
import { check } from '../check.js';
import type { Verdict } from '../finding.js';

/** No index that is written and never read. */
export const indexes = check<IndexFacts[]>({
  name: 'indexes',
  scope: 'target',
  read: (place, look) => (place.role === 'primary' ? look.read(indexFacts) : undefined),
  judge: (found) => found.flatMap(({ place, facts }) => invalidIndexVerdicts(place.label, facts)),
});

export function invalidIndexVerdicts(target: string, facts: readonly IndexFacts[]): Verdict[] {
  return facts
    .filter(({ valid, building, partitioned }) => !valid && !building && !partitioned)
    .map(({ name, unique }) => ({
      severity: 'warning',
      target,
      reason: `the index ${name} is invalid, left by a concurrent build that failed: it is written and never read${unique ? ', and what it should keep unique is not' : ''}`,
      remedy: `reindex index concurrently ${name}, or drop it`,
    }));
}
