import { filterOf } from '../../scope-filter.js';
import type { MovedTable } from '../../tables/moved-table.js';
import type { PreflightRequest } from '../preflight-request.js';

/** A table that both sides can be asked about, with the condition of the moved rows on each side. */
export interface Filtered {
  /** The index of the table in the request. */
  readonly place: number;
  readonly table: MovedTable;
  readonly source: string;
  readonly destination: string;
}

export async function filtered(
  { source, destination, tables, rows }: PreflightRequest,
  places: readonly number[],
): Promise<Filtered[]> {
  const all: Filtered[] = [];
  for (const place of places) {
    const table = tables[place];
    if (!table) continue;
    const filters = {
      source: await filterOf(source, table, rows),
      destination: await filterOf(destination, table, rows),
    };
    all.push({ place, table, ...filters });
  }
  return all;
}
