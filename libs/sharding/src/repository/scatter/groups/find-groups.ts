import { unsupported } from '../catalog.js';
import { gather } from '../gather.js';
import { assertSameTypes } from '../labels.js';
import { readShard, readTransaction } from '../shard-read.js';
import { within } from '../../../shards/work-scope.js';
import { groupText, resultType } from './aggregates.js';
import { assertBounded, readGroups } from './read-groups.js';
import { groupId, mergeGroups } from './merge-groups.js';
import type { ObjectLiteral } from 'typeorm';
import type { MissingShard } from '../fan-out-options.js';
import type { Gathered, GatherParts } from '../gather.js';
import type { KeyType } from '../values/key-type.js';
import type { Group, GroupForm } from './merge-groups.js';
import type { GroupsRequest, ShardGroups } from './read-groups.js';

/** A merged group: the text forms of its columns, then of its aggregates. */
export interface GroupTexts {
  readonly texts: readonly (string | null)[];
}

/** The groups of all shards, in no order. */
export interface FoundGroups {
  /** Of the columns, then of the aggregates. */
  readonly types: readonly KeyType[];
  readonly groups: readonly GroupTexts[];
  readonly missing: readonly MissingShard[];
}

/** @throws ShardingError `cross_shard_unsupported` also for more groups or distinct values than are merged */
export async function findGroups<E extends ObjectLiteral>(
  parts: GatherParts,
  request: GroupsRequest<E>,
): Promise<FoundGroups> {
  const gathered = await gather(parts, (read) => readGroups(read, request));
  const { answers, missing } = gathered;
  assertSameTypes(
    answers.map(({ source, value: { form } }) => ({ source, columns: namedTypes(request, form) })),
  );
  const form = answers[0]?.value.form ?? { columns: [], aggregates: [] };
  const merged = mergeGroups(
    form,
    answers.map(({ value }) => value.groups),
  );
  assertBounded(merged.size, 'groups');
  const counts = distinctCounts(form, gathered);
  const averages = await averagesOf(parts, { form, merged, gathered });
  const groups = [...merged].map(([id, group]) => ({
    texts: [
      ...group.key,
      ...form.aggregates.map(({ name }, index) => {
        if (name === 'countDistinct') return String(counts.get(index)?.get(id)?.size ?? 0);
        if (name === 'average') return averages.get(index)?.get(id) ?? null;
        return group.partials[index]?.[0] ?? null;
      }),
    ],
  }));
  return { types: [...form.columns, ...form.aggregates.map(resultType)], groups, missing };
}

function namedTypes<E extends ObjectLiteral>(request: GroupsRequest<E>, form: GroupForm) {
  return [
    ...form.columns.map((type, index) => ({ path: request.columns[index] ?? '', type })),
    ...form.aggregates.flatMap(({ of }, index) =>
      of ? [{ path: request.aggregates[index]?.of ?? '', type: of.type }] : [],
    ),
  ];
}

/** The distinct values of each group, for each `countDistinct`. */
function distinctCounts(form: GroupForm, { answers }: Gathered<ShardGroups>) {
  const counts = new Map<number, Map<string, Set<string | null>>>();
  for (const [index, { name, of }] of form.aggregates.entries()) {
    if (name !== 'countDistinct' || !of) continue;
    const groups = new Map<string, Set<string | null>>();
    let found = 0;
    for (const { value } of answers) {
      for (const { key, text } of value.distinct.get(index) ?? []) {
        const id = groupId(key, form.columns);
        const values = groups.get(id) ?? new Set();
        const before = values.size;
        groups.set(id, values.add(groupText(text, of.type)));
        found += values.size - before;
      }
    }
    assertBounded(found, 'distinct values');
    counts.set(index, groups);
  }
  return counts;
}

interface Averaged {
  readonly form: GroupForm;
  readonly merged: ReadonlyMap<string, Group>;
  readonly gathered: Gathered<ShardGroups>;
}

/** Sum by count of each group: numerics divided by PostgreSQL, so that the digits are those of its `avg`. */
async function averagesOf(
  parts: GatherParts,
  { form, merged, gathered }: Averaged,
): Promise<Map<number, Map<string, string>>> {
  const averages = new Map<number, Map<string, string>>();
  for (const [index, { name, of }] of form.aggregates.entries()) {
    if (name !== 'average' || !of) continue;
    const pairs = [...merged].flatMap(([id, { partials }]) => {
      const [sum, count] = partials[index] ?? [];
      return sum === null || sum === undefined || !count ? [] : [{ id, sum, count }];
    });
    const quotients =
      of.type.kind === 'float'
        ? pairs.map(({ sum, count }) => String(Number(sum) / Number(count)))
        : await divided(parts, pairs, gathered);
    averages.set(index, new Map(pairs.map(({ id }, at) => [id, quotients[at] ?? 'NaN'])));
  }
  return averages;
}

const DIVIDE = `select (s / n)::text as quotient from unnest($1::numeric[], $2::numeric[]) with ordinality as pair(s, n, i) order by i`;

/** Asks the shards that have answered, one after the other, until one divides. */
async function divided(
  { reads, plan }: GatherParts,
  pairs: readonly { readonly sum: string; readonly count: string }[],
  { answers }: Gathered<unknown>,
): Promise<string[]> {
  if (pairs.length === 0) return [];
  const parameters = [pairs.map(({ sum }) => sum), pairs.map(({ count }) => count)];
  const limits = { deadlineMs: plan.deadlineMs, signal: plan.signal };
  let failure: unknown = unsupported('no shard has answered');
  for (const { shard, index } of answers) {
    try {
      const rows = await within(`the read on shard "${shard.name}"`, limits, () =>
        readShard(shard, { index, reads }, (read) =>
          readTransaction(read, {}, (level) => level.single<{ quotient: string }[]>(DIVIDE, parameters)),
        ),
      );
      return rows.map(({ quotient }) => quotient);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}
