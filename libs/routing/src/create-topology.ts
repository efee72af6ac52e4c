import { listOf } from './list-of.js';
import { quote } from './quote.js';
import { groupProblem, MAX_MEMBER, memberProblem, ShardIdentifier } from './shard-identifier.js';
import type { ShardInput } from './shard-input.js';
import { ShardingError } from './sharding-error.js';
import { resolveSlotMap, type SlotMap } from './slot-map.js';
import { Topology, type GroupPlacement } from './topology.js';
import type { TopologyShard } from './topology-shard.js';

/** Every mistake in the declared shards, at once, each naming the shard; empty when they form a topology. */
export function topologyProblems(shards: readonly ShardInput[]): string[] {
  return resolve(shards).problems;
}

/**
 * The topology of the declared shards.
 *
 * @throws ShardingError `invalid_topology`, one error that lists all problems
 */
export function createTopology(shards: readonly ShardInput[]): Topology {
  const { problems, groups, members } = resolve(shards);
  if (problems.length > 0) {
    throw new ShardingError(
      'invalid_topology',
      ['the shards do not form a topology:', ...problems].join('\n  - '),
    );
  }
  return new Topology([...groups].map(([group, resolved]) => placeGroup(group, resolved, members)));
}

/** A declared shard, its place in the declaration, and how messages call it. */
interface Declared {
  readonly input: ShardInput;
  readonly index: number;
  readonly group: number;
  readonly label: string;
}

interface ResolvedGroup {
  readonly declared: readonly Declared[];
  readonly slotMap: SlotMap;
}

interface Resolution {
  readonly problems: string[];
  readonly groups: ReadonlyMap<number, ResolvedGroup>;
  /** Member numbers by the place in the declaration. */
  readonly members: ReadonlyMap<number, number>;
}

function resolve(inputs: readonly ShardInput[]): Resolution {
  const problems = inputs.length === 0 ? ['at least one shard is needed'] : [];
  const byGroup = new Map<number, Declared[]>();
  for (const shard of declare(inputs, problems)) listOf(byGroup, shard.group).push(shard);
  const members = new Map<number, number>();
  const groups = new Map<number, ResolvedGroup>();
  for (const [group, declared] of [...byGroup].toSorted(([a], [b]) => a - b)) {
    const where = byGroup.size > 1 ? `group ${group}: ` : '';
    const slotMap = resolveSlotMap(declared.map(({ input, label }) => ({ label, slots: input.slots })));
    problems.push(
      ...[...numberMembers(declared, members), ...slotMap.problems].map((problem) => where + problem),
    );
    groups.set(group, { declared, slotMap });
  }
  return { problems, groups, members };
}

/** Checks names and groups; a shard whose group is not a group takes no part in what follows. */
function declare(inputs: readonly ShardInput[], problems: string[]): Declared[] {
  const indexByName = new Map<unknown, number>();
  const declared: Declared[] = [];
  for (const [index, input] of inputs.entries()) {
    const { name, group = 0 } = input;
    const place = `shards[${index}]`;
    const wellNamed = typeof name === 'string' && /^[a-z0-9_-]+$/.test(name);
    const first = indexByName.get(name);
    if (!wellNamed) problems.push(`${place}: name must match [a-z0-9_-]+, not ${quote(name)}`);
    else if (first !== undefined) problems.push(`${place}: the name "${name}" is taken by shards[${first}]`);
    else indexByName.set(name, index);
    const label = wellNamed && first === undefined ? `shard "${name}"` : place;
    const problem = groupProblem(group);
    if (problem === undefined) declared.push({ input, index, group, label });
    else problems.push(`${label}: ${problem}`);
  }
  return declared;
}

/** Explicit members keep their number; the others take the lowest free ones unless the group is too large for that. */
function numberMembers(declared: readonly Declared[], members: Map<number, number>): string[] {
  const problems: string[] = [];
  const taken = new Map<number, Declared>();
  for (const shard of declared) {
    const { member } = shard.input;
    if (member === undefined) continue;
    const holder = taken.get(member);
    const problem =
      memberProblem(member) ??
      (holder && `identifier (${shard.group},${member}) is taken by ${holder.label}`);
    if (problem !== undefined) {
      problems.push(`${shard.label}: ${problem}`);
      continue;
    }
    taken.set(member, shard);
    members.set(shard.index, member);
  }
  if (declared.length > MAX_MEMBER + 1) return problems;
  let free = 0;
  for (const shard of declared) {
    if (shard.input.member !== undefined) continue;
    while (taken.has(free)) free++;
    members.set(shard.index, free++);
  }
  return problems;
}

/** The shards of one sound group, and the owner of each slot. */
function placeGroup(
  group: number,
  { declared, slotMap }: ResolvedGroup,
  members: ReadonlyMap<number, number>,
): GroupPlacement {
  const counts = new Uint16Array(declared.length);
  for (const owner of slotMap.owners) counts[owner] = (counts[owner] ?? 0) + 1;
  const shards = declared.map(({ input, index }, position): TopologyShard => {
    const shard = { name: input.name, index, group, slotCount: counts[position] ?? 0 };
    const member = members.get(index);
    return Object.freeze(
      member === undefined ? shard : { ...shard, identifier: ShardIdentifier.of(group, member) },
    );
  });
  const owners = Array.from(slotMap.owners).flatMap((owner) => shards[owner] ?? []);
  return { group, shards, owners, autoSplit: slotMap.autoSplit };
}
