import { ShardingError } from '@app/routing';
import { assertWhole } from '../fan-out-options.js';
import { AGGREGATES } from './aggregates.js';
import { findGroups } from './find-groups.js';
import { assertNames, shapeGroups } from './shape-groups.js';
import type { ObjectLiteral } from 'typeorm';
import type { MissingShard } from '../fan-out-options.js';
import type { GatherParts } from '../gather.js';
import type { QueryParts } from '../query.js';
import type { OutputValue } from '../values/key-value.js';
import type { AggregateName } from './aggregates.js';
import type { GroupShape, OutputRow } from './shape-groups.js';

/** A call of `groupBy` as it comes. */
export interface GroupsCall {
  readonly columns: readonly string[];
  /** By name: `{ count: '*' }`, `{ sum: 'amount' }`. */
  readonly aggregates: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly options: Pick<GroupShape, 'having' | 'order' | 'take'>;
}

/** @throws ShardingError `invalid_options`, `cross_shard_unsupported` */
export async function askGroups<E extends ObjectLiteral>(
  parts: GatherParts,
  request: QueryParts<E>,
  { columns, aggregates, options }: GroupsCall,
): Promise<{ rows: OutputRow[]; missing: readonly MissingShard[] }> {
  const { having, order, take } = options;
  if (take !== undefined) assertWhole('take', take, { least: 0 });
  const names = [...columns, ...Object.keys(aggregates)];
  const shape = { names, columns: columns.length, having, order, take };
  assertNames(shape);
  const asked = Object.values(aggregates).map(aggregateOf);
  const { groups, types, missing } = await findGroups(parts, { ...request, columns, aggregates: asked });
  return { rows: shapeGroups(groups, types, shape), missing };
}

/** One aggregate over all rows. */
export async function singleValue<E extends ObjectLiteral>(
  parts: GatherParts,
  request: QueryParts<E>,
  aggregate: Readonly<Record<string, string>>,
): Promise<{ value: OutputValue | null; missing: readonly MissingShard[] }> {
  const call = { columns: [], aggregates: { value: aggregate }, options: {} };
  const { rows, missing } = await askGroups(parts, request, call);
  return { value: rows[0]?.['value'] ?? null, missing };
}

function aggregateOf(given: Readonly<Record<string, string>>): { name: AggregateName; of: string } {
  const [entry, ...more] = Object.entries(given);
  const name = AGGREGATES.find((known) => known === entry?.[0]);
  if (!name || !entry || more.length > 0) {
    throw new ShardingError('invalid_options', `an aggregate is one of ${AGGREGATES.join(', ')} of a column`);
  }
  return { name, of: entry[1] };
}
