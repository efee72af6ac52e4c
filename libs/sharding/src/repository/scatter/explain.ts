import { ordered } from './values/key-type.js';
import type { ObjectLiteral } from 'typeorm';
import type { RowsPlan } from './rows.js';

/** What happens to the rows of the shards, in words. */
export function mergeSteps<E extends ObjectLiteral>(
  { keys, load }: RowsPlan<E>,
  { skip, take }: { readonly skip: number; readonly take: number | undefined },
): string[] {
  const order = keys.map(
    ({ sql, type, direction, nulls }) =>
      `${ordered(sql, type.kind)} ${direction.toLowerCase()} nulls ${nulls}`,
  );
  return [
    `merge the sorted rows of the shards by ${[...order, 'shard'].join(', ')}`,
    ...(skip > 0 ? [`leave out the first ${skip}`] : []),
    ...(take === undefined ? [] : [`take ${take}`]),
    ...(load === 'by key' ? ['load these rows with their relations from their shards, by primary key'] : []),
  ];
}
