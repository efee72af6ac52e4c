import { mapDifferences, type MapDifferences } from './map-differences.js';
import { freeMembers, identifierOf, passedIdentifiers, type PassedIdentifier } from './passed-identifiers.js';
import { printUnmoved, slotsWithoutMove, type MapHistory } from './unmoved-slots.js';
import type { SlotMapGuard } from '../sharding.options.js';
import type { MappedShard, MapVersion } from './mapped-shard.js';

/** Without versions before the first boot. */
export interface MapCase extends MapHistory {
  readonly guard: SlotMapGuard;
}

/** What is to be done about a slot map at boot. */
export type MapVerdict =
  | { readonly outcome: 'unchanged' }
  | { readonly outcome: 'record'; readonly version: number; readonly warning?: string }
  | { readonly outcome: 'refuse'; readonly reason: string };

/**
 * Compares the slot map of the configuration with the newest recorded one. While a group splits automatically every
 * difference is refused; so is, always, another identifier of a known shard, or an identifier that was another's. Slots
 * with another owner need verified moves of the whole slots, else they are warned about, or refused by a strict guard.
 */
export function judgeSlotMap({ guard, ...history }: MapCase): MapVerdict {
  const { versions, current } = history;
  const [recorded] = versions;
  if (!recorded) return { outcome: 'record', version: 1 };
  const differences = mapDifferences(recorded.shards, current);
  const { added, removed, identifiers, ranges, numbered } = differences;
  const isPlacedAsBefore = [added, removed, identifiers, ranges].every((list) => list.length === 0);
  if (isPlacedAsBefore && numbered.length === 0) return { outcome: 'unchanged' };
  if (!isPlacedAsBefore && current.some(({ autoSplit }) => autoSplit)) {
    return { outcome: 'refuse', reason: autoSplitReason(recorded, differences) };
  }
  if (identifiers.length > 0) {
    return { outcome: 'refuse', reason: identifierReason(recorded, differences) };
  }
  const passed = passedIdentifiers(versions, current);
  const taken = passed.filter(({ isRename }) => !isRename);
  if (taken.length > 0) return { outcome: 'refuse', reason: takenReason(taken, history) };
  const version = recorded.version + 1;
  const moved = slotsWithoutMove(history).map(printUnmoved);
  if (moved.length + passed.length === 0) return { outcome: 'record', version };
  const reason = [
    moved.length > 0 ? movedReason(recorded, moved) : `${differs(recorded.version)}.`,
    ...(passed.length > 0 ? [renamedReason(passed)] : []),
  ].join('\n');
  if (moved.length > 0 && guard === 'strict') return { outcome: 'refuse', reason };
  return { outcome: 'record', version, warning: reason };
}

function autoSplitReason({ version, shards }: MapVersion, differences: MapDifferences): string {
  const known = new Set(shards.map(({ group }) => group));
  return [
    `${differs(version)}, and not every shard declares its slots. What changed:`,
    ...printDifferences(differences),
    'The rows are where they were: declare the slots so, then move slots one by one.',
    ...shards.map(({ name, slots }) => `  ${name}: slots = ${specsOf(slots)}`),
    ...differences.added.map(
      ({ name, group, slots }) => `  ${name}: slots = ${specsOf(known.has(group) ? '' : slots)}`,
    ),
  ].join('\n');
}

function identifierReason({ version }: MapVersion, { identifiers }: MapDifferences): string {
  return [
    `${differs(version)}: shards have other identifiers, but ids carry them for ever. Give the old ones back:`,
    ...identifiers.map(printIdentifier),
  ].join('\n');
}

/** Each with another member that is free. */
function takenReason(taken: readonly PassedIdentifier[], { versions, current }: MapHistory): string {
  const free = new Map<number, number[]>();
  const lines = taken.map(({ from, to, version }) => {
    const members = free.get(to.group) ?? freeMembers(to.group, versions, current);
    free.set(to.group, members);
    const member = members.shift();
    const proposal = member === undefined ? 'none is left in the group' : `member = ${member}`;
    return `  ${to.name} has ${identifierOf(to)}, which was the identifier of ${from.name} until version ${version}: ${proposal}`;
  });
  return [
    `${differs(versions[0]?.version)}: shards have identifiers that were those of others, but ids carry them for ever. Give them members that nobody had:`,
    ...lines,
  ].join('\n');
}

function renamedReason(renamed: readonly PassedIdentifier[]): string {
  return [
    'Identifiers have another name, and ids carry them for ever; that is right where only the name of the database is new:',
    ...renamed.map(({ from, to }) => `  ${identifierOf(to)} from ${from.name} to ${to.name}`),
  ].join('\n');
}

function movedReason({ version }: MapVersion, moved: readonly string[]): string {
  return [
    `${differs(version)}: slots have other owners, and no verified move of them is recorded.`,
    ...moved.map((slots) => `  ${slots}`),
    'Rows that were not moved are not found there: move the slots first, or give them back.',
  ].join('\n');
}

const differs = (version?: number) => `the slot map differs from version ${version} on the control database`;

/** A shard that goes while another comes with its slots has been renamed, or its place was taken. */
function printDifferences({ added, removed, identifiers, ranges }: MapDifferences): string[] {
  const heirOf = (gone: MappedShard) =>
    added.find(({ group, slots }) => group === gone.group && slots === gone.slots && slots !== '');
  const renamed = removed.flatMap((gone) => {
    const heir = heirOf(gone);
    return heir ? [[gone, heir] as const] : [];
  });
  const paired = new Set(renamed.flat());
  return [
    ...renamed.map(([gone, heir]) => `  renamed or replaced: ${gone.name} by ${heir.name}`),
    ...added.filter((shard) => !paired.has(shard)).map(({ name }) => `  added: ${name}`),
    ...removed.filter((shard) => !paired.has(shard)).map(({ name }) => `  removed: ${name}`),
    ...ranges.map(
      ([old, now]) => `  slots of ${now.name}: ${old.slots || 'none'} before, ${now.slots || 'none'} now`,
    ),
    ...identifiers.map(printIdentifier),
  ];
}

function printIdentifier([old, now]: readonly [MappedShard, MappedShard]): string {
  const line = `  identifier of ${now.name}: ${identifierOf(old)} before, ${identifierOf(now)} now`;
  return `${line} (group = ${old.group}${old.member === null ? '' : `, member = ${old.member}`})`;
}

/** As it is written in `sharding.toml`. */
function specsOf(slots: string): string {
  return JSON.stringify(slots === '' ? [] : slots.split(', ')).replaceAll('","', '", "');
}
