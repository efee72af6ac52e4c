import type { Finding } from '../finding.js';
import { about, listed, type Facts } from './facts.js';

/** What only the copy itself finds out: it is rolled back then. */
export function exclusions({ tables, names, destination }: Facts): Finding[] {
  return tables.flatMap((table, place) => {
    const unseen = destination.indexes.filter(
      (index) => index.place === place && !index.columns.includes(table.key.name) && !isComparable(index),
    );
    if (unseen.length === 0) return [];
    const which = listed(unseen.map(({ name }) => `"${name}"`));
    return [
      about('exclusion', table).warning(
        `whether rows clash in ${which} on ${names.destination} is found by the copy itself, which is rolled back then`,
      ),
    ];
  });
}

/** Whether a look at the values tells it before. */
function isComparable(index: Facts['destination']['indexes'][number]): boolean {
  if (!index.unique && !index.exclusion) return true;
  return !index.exclusion && !index.partial && !index.expression && index.path === '';
}
