import { quoted, quotedTable } from '../../quoted.js';
import { about } from '../judge/facts.js';
import { counted, type Finding } from '../finding.js';
import { countOf } from './compare-values.js';
import { tableName } from '../../tables/moved-table.js';
import type { ForeignKeyFacts } from '../facts/read-foreign-keys.js';
import type { SideFacts } from '../facts/side-facts.js';
import type { PreflightRequest } from '../preflight-request.js';
import type { Filtered } from './filtered.js';

/**
 * Foreign keys from rows that move to rows that stay, or the other way round. One that compares the keys of both tables
 * cannot.
 */
export async function crossingReferences(
  { source, names }: PreflightRequest,
  { foreignKeys }: SideFacts,
  tables: readonly Filtered[],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const foreign of foreignKeys.filter(({ enforced }) => enforced)) {
    const from = tables.find(({ place }) => place === foreign.from);
    const to = tables.find(({ place }) => place === foreign.to);
    if (!from || !to || comparesKeys(foreign, { from, to })) continue;
    const count = await countOf(source, crossing(foreign, { from, to }));
    if (count === 0n) continue;
    findings.push(
      about('reference', from.table).error(
        `${counted(count, 'row')} on ${names.source} belong to another key than the row of ${tableName(to.table)} that they refer to by (${foreign.columns.join(', ')}), and would be parted from it: move both keys, or mend the rows`,
      ),
    );
  }
  return findings;
}

interface Ends {
  readonly from: Filtered;
  readonly to: Filtered;
}

function comparesKeys({ columns, referenced }: ForeignKeyFacts, { from, to }: Ends): boolean {
  return columns.some(
    (name, index) => name === from.table.key.name && referenced[index] === to.table.key.name,
  );
}

/** In two halves, each of which begins at rows that move: no whole table has to be read where indexes help. */
function crossing({ columns, referenced }: ForeignKeyFacts, { from, to }: Ends): string {
  const equal = columns.map((_name, index) => `referring.c${index} = referred.c${index}`).join(' and ');
  const half = (referring: string, referred: string) =>
    `(select count(*) from ${referring} referring join ${referred} referred on ${equal})`;
  const [out, into] = [
    half(side(from, columns, 'moving'), side(to, referenced, 'staying')),
    half(side(from, columns, 'staying'), side(to, referenced, 'moving')),
  ];
  return `select (${out} + ${into})::text as count`;
}

function side({ table, source }: Filtered, columns: readonly string[], which: 'moving' | 'staying'): string {
  const named = columns.map((name, index) => `${quoted(name)} as c${index}`).join(', ');
  const condition = which === 'moving' ? source : `(${source}) is not true`;
  return `(select ${named} from ${quotedTable(table)} where ${condition})`;
}
