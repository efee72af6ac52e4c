import type { MappedShard, MapVersion } from './mapped-shard.js';

/** An identifier whose holder has another name than the last holder that was recorded. */
export interface PassedIdentifier {
  readonly from: MappedShard;
  readonly to: MappedShard;
  /** The last version in which `from` had it. */
  readonly version: number;
  /** Whether `to` stands in the place of `from` entirely: the same slots, without a version in between. */
  readonly isRename: boolean;
}

/** An identifier stays with whom had it, also when it was given up long ago: there are ids that carry it. */
export function passedIdentifiers(
  versions: readonly MapVersion[],
  current: readonly MappedShard[],
): PassedIdentifier[] {
  const holders = lastHolders(versions);
  const names = new Set(current.map(({ name }) => name));
  return current.flatMap((to) => {
    const last = to.member === null ? undefined : holders.get(identifierOf(to));
    if (!last || last.shard.name === to.name) return [];
    const { shard: from, version } = last;
    const isGone = version === versions[0]?.version && !names.has(from.name);
    return [{ from, to, version, isRename: isGone && from.slots === to.slots && from.slots !== '' }];
  });
}

/** The members of a group that no shard has or ever had, lowest first. */
export function freeMembers(
  group: number,
  versions: readonly MapVersion[],
  current: readonly MappedShard[],
): number[] {
  const shards = [...current, ...versions.flatMap((version) => version.shards)];
  const taken = new Set(shards.flatMap((shard) => (shard.group === group ? [shard.member] : [])));
  return Array.from({ length: MEMBERS }, (_, member) => member).filter((member) => !taken.has(member));
}

/** `(0,1)`, for messages too. */
export const identifierOf = ({ group, member }: MappedShard) => `(${group},${member ?? '-'})`;

const MEMBERS = 64;

function lastHolders(
  versions: readonly MapVersion[],
): Map<string, { readonly shard: MappedShard; readonly version: number }> {
  const holders = new Map<string, { readonly shard: MappedShard; readonly version: number }>();
  for (const { version, shards } of versions) {
    for (const shard of shards) {
      const identifier = identifierOf(shard);
      if (shard.member !== null && !holders.has(identifier)) holders.set(identifier, { shard, version });
    }
  }
  return holders;
}
