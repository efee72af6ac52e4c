import { ShardingError } from '@app/routing';

/** How one table differs between what was proven and what is there. */
export interface TableDifference {
  readonly table: string;
  readonly expectedRows: string;
  readonly foundRows: string;
}

/** Rows are not what they were proven to be. Nothing was deleted. */
export class MoveMismatch extends ShardingError {
  /** @param where `source` or `destination`, for people: `shard0, the source` */
  constructor(
    message: string,
    readonly differences: readonly TableDifference[],
  ) {
    super('move_mismatch', `${message}: ${differences.map(printed).join('; ')}`);
  }
}

function printed({ table, expectedRows, foundRows }: TableDifference): string {
  if (expectedRows === foundRows) return `${table}: ${foundRows} rows, of which some differ`;
  return `${table}: ${foundRows} rows instead of ${expectedRows}`;
}
