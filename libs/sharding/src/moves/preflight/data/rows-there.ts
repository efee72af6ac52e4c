import { quotedTable } from '../../quoted.js';
import { about } from '../judge/facts.js';
import { counted, type Finding } from '../finding.js';
import { countOf } from './compare-values.js';
import type { PreflightRequest } from '../preflight-request.js';
import type { Filtered } from './filtered.js';

/** Rows of the keys that the destination has already: nobody knows whose truth they are. */
export async function rowsThere(
  { destination, names, ownCopy }: PreflightRequest,
  tables: readonly Filtered[],
): Promise<Finding[]> {
  if (ownCopy) return [];
  const findings: Finding[] = [];
  for (const { table, destination: filter } of tables) {
    const statement = `select count(*)::text as count from ${quotedTable(table)} where ${filter}`;
    const count = await countOf(destination, statement);
    if (count === 0n) continue;
    findings.push(
      about('rows', table).error(
        `${names.destination} has ${counted(count, 'row')} of the moved keys already: see where they came from (shardctl audit), and remove them`,
      ),
    );
  }
  return findings;
}
