import { quoted, quotedTable } from '../../quoted.js';
import { about } from '../judge/facts.js';
import { counted, type Finding } from '../finding.js';
import { countOf, equalToGiven, givenValues, texts } from './compare-values.js';
import { inBatches } from './in-batches.js';
import type { ForeignKeyFacts } from '../facts/read-foreign-keys.js';
import type { SideFacts } from '../facts/side-facts.js';
import type { PreflightRequest } from '../preflight-request.js';
import type { Filtered } from './filtered.js';

/** Rows of tables without the key, such as countries, that moved rows refer to and the destination does not have. */
export async function lostReferences(
  request: PreflightRequest,
  { foreignKeys }: SideFacts,
  tables: readonly Filtered[],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const one of tables) {
    const leaving = foreignKeys.filter(
      ({ from, to, toHasKey, enforced }) => from === one.place && to === null && !toHasKey && enforced,
    );
    for (const foreign of leaving) {
      const count = await missing(request, one, foreign);
      if (count === 0n) continue;
      findings.push(
        about('reference', one.table).error(
          `refers by (${foreign.columns.join(', ')}) to ${counted(count, 'row')} of ${foreign.toTable} that ${request.names.destination} does not have: bring them there first`,
        ),
      );
    }
  }
  return findings;
}

async function missing(
  { source, destination }: PreflightRequest,
  { table, source: filter }: Filtered,
  { columns, referenced, referencedTypes, toQuoted }: ForeignKeyFacts,
): Promise<bigint> {
  let count = 0n;
  const own = columns.map((name) => ({ name }));
  const filled = columns.map((name) => `${quoted(name)} is not null`).join(' and ');
  const used = `select distinct ${texts(own)} from ${quotedTable(table)} where (${filter}) and ${filled}`;
  const compared = referenced.map((name, index) => ({ name, type: referencedTypes[index] ?? 'text' }));
  const statement = `select count(*)::text as count from ${givenValues(compared)}
    where not exists (select from ${toQuoted} held where ${equalToGiven(compared, 'differ')})`;
  await inBatches(source, used, async (values) => {
    count += await countOf(destination, statement, values);
  });
  return count;
}
