import { describeType } from './quote.js';
import type { RoutingKey } from './routing-key.js';
import { groupProblem, MAX_GROUP } from './shard-identifier.js';
import { ShardingError } from './sharding-error.js';
import type { Topology } from './topology.js';

/**
 * The group of a key, which says where its data is allowed to live, or `undefined` where the rule does not say.
 * Pure and deterministic: the same key, the same answer, in every process and for ever; it answers at once.
 *
 * ```ts
 * const groupOf: GroupOf = (key) => (String(key).startsWith('eu-') ? 1 : 0);
 * ```
 */
export type GroupOf = (key: RoutingKey) => number | undefined;

/**
 * Asks a {@link GroupOf}, trusting it with nothing.
 *
 * @throws ShardingError `out_of_topology` for an answer that is no group, for a group without shards, and where the
 *   rule itself fails (its error is the cause; a `ShardingError` of its own passes through)
 */
export function groupOfKey(groupOf: GroupOf, key: RoutingKey, topology: Topology): number | undefined {
  const group = askGroup(groupOf, key);
  if (group === undefined || topology.hasGroup(group)) return group;
  const groups = topology.groups.join(', ');
  throw new ShardingError(
    'out_of_topology',
    `groupOf answered with group ${group}, which has no shards; groups: ${groups}`,
  );
}

/** {@link groupOfKey} without a look at which groups have shards. */
export function askGroup(groupOf: GroupOf, key: RoutingKey): number | undefined {
  const group = answerOf(groupOf, key);
  if (group !== undefined && groupProblem(group) !== undefined) throw noGroup(group);
  return group;
}

function answerOf(groupOf: GroupOf, key: RoutingKey): number | undefined {
  try {
    return groupOf(key);
  } catch (cause) {
    if (cause instanceof ShardingError) throw cause;
    throw new ShardingError(
      'out_of_topology',
      'groupOf failed; it must answer every routing key with a group or undefined',
      {
        cause,
      },
    );
  }
}

/** The answer is not echoed: it may be the key. */
function noGroup(answer: unknown): ShardingError {
  let said = typeof answer === 'number' ? 'a number that is no group' : describeType(answer);
  if (answer instanceof Promise) {
    answer.catch(() => undefined);
    said = 'a promise';
  }
  return new ShardingError(
    'out_of_topology',
    `groupOf answered with ${said}; it must answer at once with an integer in 0..${MAX_GROUP} or undefined`,
  );
}
