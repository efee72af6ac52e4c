import { printable } from './printable.js';
import { PLAIN, type Style } from './style.js';
import { table } from './table.js';
import type { MapChanges, MappedIdentifier, RecordedMap, SlotChange } from '@app/sharding/operator';

/** Each version with its shards, and what changed in it. */
export function historyText(maps: readonly RecordedMap[], style: Style = PLAIN): string {
  if (maps.length === 0) return 'no slot map is recorded yet: the first boot does so';
  return maps.map((map) => versionText(map, style)).join('\n\n');
}

function versionText(
  { version: { version, recordedAt, shards }, changes }: RecordedMap,
  style: Style,
): string {
  const rows = shards.map(({ name, group, member, slots, autoSplit }) => [
    name,
    group,
    member,
    slots || 'drained',
    autoSplit ? 'automatic' : 'declared',
  ]);
  return [
    style.heading(`version ${version}, recorded at ${timeOf(recordedAt)}`),
    table(['shard', 'group', 'member', 'slots', 'split'], rows),
    ...(changes ? ['what changed:', ...changesLines(changes)] : []),
  ].join('\n');
}

/** Two spaces, and one change a line. */
export function changesLines({ added, removed, identifiers, passed, numbered, slots }: MapChanges): string[] {
  const lines = [
    ...added.map((name) => `added: ${name}`),
    ...removed.map((name) => `removed: ${name}`),
    ...identifiers.map(
      ({ shard, from, to }) => `identifier of ${shard}: ${identifier(from)} before, ${identifier(to)} now`,
    ),
    ...passed.map(
      ({ from, to, renamed, ...of }) =>
        `identifier ${identifier(of)} from ${from} to ${to}${renamed ? ': renamed' : ': ids of one name the other'}`,
    ),
    ...numbered.map((name) => `has a member now: ${name}`),
    ...slots.map(slotsLine),
  ];
  return (lines.length > 0 ? lines : ['nothing but how it is declared']).map((line) =>
    printable(`  ${line}`),
  );
}

function slotsLine({ group, from, to, slots, verified }: SlotChange): string {
  const where = group === 0 ? '' : ` of group ${group}`;
  const move = verified ? 'moved and verified' : 'WITHOUT a verified move';
  return `slots ${slots}${where} from ${from ?? 'nobody'} to ${to ?? 'nobody'}, ${move}`;
}

function identifier({ group, member }: MappedIdentifier): string {
  return `(${group},${member ?? '-'})`;
}

/** Of seconds since 1970. */
export function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
