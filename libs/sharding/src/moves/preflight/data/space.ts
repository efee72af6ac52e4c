import { quotedTable } from '../../quoted.js';
import { countOf } from './compare-values.js';
import type { Finding } from '../finding.js';
import type { RelationFacts } from '../facts/read-relations.js';
import type { SideFacts } from '../facts/side-facts.js';
import type { PreflightRequest } from '../preflight-request.js';
import type { Filtered } from './filtered.js';

const GIB = 1024 ** 3;

/** Nobody but a superuser sees how much is free; a copy that does not fit is rolled back. */
export async function space(
  { source, names }: PreflightRequest,
  { relations }: SideFacts,
  tables: readonly Filtered[],
): Promise<Finding[]> {
  const whole = tables.map(({ place }) => sizeOf(relations.filter((relation) => relation.place === place)));
  if (whole.reduce((sum, { bytes }) => sum + bytes, 0) < GIB) return [];
  let bytes = 0;
  for (const [index, { table, source: filter }] of tables.entries()) {
    const moved = await countOf(
      source,
      `select count(*)::text as count from ${quotedTable(table)} where ${filter}`,
    );
    bytes += movedBytes(whole[index] ?? { rows: 0, bytes: 0 }, Number(moved));
  }
  if (bytes < GIB) return [];
  const message = `about ${(bytes / GIB).toFixed(1)} GiB come to ${names.destination}, and as much again is written to its WAL: see that there is room`;
  return [{ check: 'space', severity: 'warning', message }];
}

type Size = Pick<RelationFacts, 'rows' | 'bytes'>;

function sizeOf(relations: readonly RelationFacts[]): Size {
  const leaves = relations.filter(({ kind }) => kind === 'table');
  const sum = (of: (size: Size) => number) => leaves.reduce((total, relation) => total + of(relation), 0);
  return { rows: sum(({ rows }) => rows), bytes: sum(({ bytes }) => bytes) };
}

/** The share of the rows, by the planner's guess of all; all of it where there is no guess. */
export function movedBytes({ rows, bytes }: Size, moved: number): number {
  return moved === 0 ? 0 : bytes * Math.min(1, moved / Math.max(rows, 1));
}
