import { ShardingError } from '@app/routing';
import { defaultNulls, keyedRow, rowOrder } from '../sort-key.js';
import { outputOf } from '../values/key-value.js';
import { satisfies } from './having.js';
import type { SortRule } from '../sort-key.js';
import type { KeyType } from '../values/key-type.js';
import type { OutputValue } from '../values/key-value.js';
import type { GroupTexts } from './find-groups.js';

/** A group for the caller. */
export type OutputRow = Record<string, OutputValue | null>;

/** How merged groups become the answer. */
export interface GroupShape {
  /** Of the columns, then of the aggregates: the names of the answer. */
  readonly names: readonly string[];
  /** How many of the names are columns: they complete the order. */
  readonly columns: number;
  readonly having?: ((row: never) => boolean) | Readonly<Record<string, unknown>> | undefined;
  readonly order?: Readonly<Record<string, unknown>> | undefined;
  readonly take?: number | undefined;
}

/** Filters, orders and cuts merged groups: `having` and `take` hold for the groups of all shards. */
export function shapeGroups(
  groups: readonly GroupTexts[],
  types: readonly KeyType[],
  shape: GroupShape,
): OutputRow[] {
  const order = orderRules(types, shape);
  const compare = rowOrder(order.map(({ rule }) => rule));
  return groups
    .map(({ texts }) => ({ texts, row: outputRow(texts, types, shape.names) }))
    .filter((group) => passes(group, types, shape))
    .map(({ texts, row }) =>
      keyedRow(
        order.map(({ rule }) => rule),
        order.map(({ at }) => texts[at] ?? null),
        { shard: 0, row },
      ),
    )
    .toSorted(compare)
    .slice(0, shape.take)
    .map(({ row }) => row);
}

/** @throws ShardingError `invalid_options` for a name that is used twice, or is none of the answer */
export function assertNames({ names, order, having }: GroupShape): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw invalid(`"${twice}" names two values of a group`);
  for (const used of [order, typeof having === 'function' ? undefined : having]) {
    const unknown = Object.keys(used ?? {}).find((name) => !names.includes(name));
    if (unknown !== undefined) throw invalid(`"${unknown}" is no value of a group: ${names.join(', ')}`);
  }
}

function outputRow(
  texts: readonly (string | null)[],
  types: readonly KeyType[],
  names: readonly string[],
): OutputRow {
  const entries = names.map((name, index) => {
    const [text, type] = [texts[index] ?? null, types[index]];
    return [name, text === null || !type ? null : outputOf(text, type)] as const;
  });
  return Object.fromEntries(entries);
}

function passes(
  { texts, row }: { readonly texts: readonly (string | null)[]; readonly row: OutputRow },
  types: readonly KeyType[],
  { names, having }: GroupShape,
): boolean {
  if (having === undefined) return true;
  if (typeof having === 'function') return having(row as never);
  return Object.entries(having).every(([name, condition]) => {
    const at = names.indexOf(name);
    const type = types[at];
    return type !== undefined && satisfies({ name, text: texts[at] ?? null, type }, condition);
  });
}

function orderRules(
  types: readonly KeyType[],
  { names, columns, order = {} }: GroupShape,
): { readonly at: number; readonly rule: SortRule }[] {
  const asked = Object.entries(order).filter(([, value]) => value !== undefined);
  const all = [...asked, ...names.slice(0, columns).map((name) => [name, 'ASC'] as const)];
  return all.flatMap(([name, value]) => {
    const at = names.indexOf(name);
    const type = types[at];
    return type ? [{ at, rule: { type, ...directionOf(value) } }] : [];
  });
}

function directionOf(value: unknown): Pick<SortRule, 'direction' | 'nulls'> {
  const asked = (typeof value === 'object' ? value : { direction: value }) as Record<string, unknown>;
  const { direction: given = 'ASC', nulls } = asked;
  const direction = given === -1 || String(given).toUpperCase() === 'DESC' ? 'DESC' : 'ASC';
  const place = typeof nulls === 'string' ? nulls.toLowerCase() : defaultNulls(direction);
  return { direction, nulls: place === 'first' ? 'first' : 'last' };
}

function invalid(message: string): ShardingError {
  return new ShardingError('invalid_options', message);
}
