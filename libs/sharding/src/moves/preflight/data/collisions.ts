import { quotedTable } from '../../quoted.js';
import { about, atRoot } from '../judge/facts.js';
import { counted, type Finding } from '../finding.js';
import { countOf, equalToGiven, givenValues, texts, type Compared } from './compare-values.js';
import { inBatches } from './in-batches.js';
import type { IndexFacts } from '../facts/read-indexes.js';
import type { SideFacts } from '../facts/side-facts.js';
import type { PreflightRequest } from '../preflight-request.js';
import type { Filtered } from './filtered.js';

/**
 * Rows of other keys at the destination with the unique values of rows that are to come. All values are looked at; those that
 * contain the key cannot clash.
 */
export async function collisions(
  request: PreflightRequest,
  { indexes, columns }: SideFacts,
  tables: readonly Filtered[],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const one of tables) {
    const types = new Map(atRoot(columns, one.place).map(({ name, type }) => [name, type]));
    for (const index of clashing(indexes, one)) {
      const compared = index.columns.map((name) => ({ name, type: types.get(name) ?? 'text' }));
      const count = await clashes(request, one, { compared, nulls: index.nullsEqual ? 'equal' : 'differ' });
      if (count === 0n) continue;
      findings.push(
        about('collision', one.table).error(
          `${counted(count, 'row')} of other keys on ${request.names.destination} have the same (${index.columns.join(', ')}) as rows that are to come: change them on one side, or let the move number rows anew (--reassign-ids)`,
        ),
      );
    }
  }
  return findings;
}

/** By columns: two indexes over the same are one. */
function clashing(indexes: readonly IndexFacts[], { place, table }: Filtered): IndexFacts[] {
  const unique = atRoot(indexes, place).filter(
    (index) =>
      index.unique &&
      !index.exclusion &&
      !index.partial &&
      !index.expression &&
      !index.columns.includes(table.key.name) &&
      !index.columns.includes(table.renumbered ?? ''),
  );
  return [...new Map(unique.map((index) => [JSON.stringify(index.columns), index])).values()];
}

interface Comparison {
  readonly compared: readonly Compared[];
  readonly nulls: 'differ' | 'equal';
}

async function clashes(
  { source, destination }: PreflightRequest,
  { table, ...filters }: Filtered,
  { compared, nulls }: Comparison,
): Promise<bigint> {
  let count = 0n;
  const moved = `select ${texts(compared)} from ${quotedTable(table)} where ${filters.source}`;
  const others = `(select * from ${quotedTable(table)} where (${filters.destination}) is not true)`;
  const statement = `select count(*)::text as count
    from ${givenValues(compared)} join ${others} held on ${equalToGiven(compared, nulls)}`;
  await inBatches(source, moved, async (values) => {
    count += await countOf(destination, statement, values);
  });
  return count;
}
