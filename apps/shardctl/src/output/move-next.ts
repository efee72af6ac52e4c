import { printSlots, slotOf } from '@app/routing';
import { shardctlLine, shellWord } from './move-shell.js';
import { shortId } from './move-text.js';
import type { MoveRecord } from '@app/sharding/operator';
import type { Topology } from '@app/routing';
import type { ConfigurationSource } from '../verb.js';

/** What the operator does after a verified move. */
export interface NextSteps {
  /** Commands that route tenants anew; empty for slots. */
  readonly pins: readonly string[];
  /** Lines of `sharding.toml` by shard; empty for tenants. */
  readonly slots: Readonly<Record<string, string>>;
  /** What deletes the rows at the source, afterwards. */
  readonly purge: string;
}

export function nextSteps(move: MoveRecord, topology: Topology, source: ConfigurationSource): NextSteps {
  const { scope, destination, terms } = move;
  const purge = shardctlLine(source, ['purge', shortId(move)]);
  if ('slots' in scope) return { pins: [], slots: slotLines(move, scope.slots, topology), purge };
  if (terms.keyKind === 'integer') return { pins: [], slots: {}, purge };
  return { pins: scope.keys.map((key) => pinLine(key, destination, source)), slots: {}, purge };
}

/** What begins with a dash is no option behind two of them. */
function pinLine(key: string, shard: string, source: ConfigurationSource): string {
  return shardctlLine(source, ['pin', ...(key.startsWith('-') ? ['--'] : []), key, shard]);
}

/** The shards whose `slots` change; all of the group while the split is automatic. */
function slotLines(
  { source, destination, group }: MoveRecord,
  slots: readonly number[],
  topology: Topology,
): Record<string, string> {
  const moved = new Set(slots);
  const owned = (name: string) => {
    const stay = topology.slotsOfShard(name).filter((slot) => !moved.has(slot));
    return name === destination ? [...stay, ...slots] : stay;
  };
  const line = (name: string) => {
    const ranges = printSlots(owned(name));
    return `slots = [${
      ranges === ''
        ? ''
        : ranges
            .split(', ')
            .map((range) => `"${range}"`)
            .join(', ')
    }]`;
  };
  return Object.fromEntries(
    topology
      .shardsOfGroup(group)
      .map(({ name }) => name)
      .filter((name) => topology.isAutoSplit(group) || name === source || name === destination)
      .map((name) => [name, line(name)]),
  );
}

/** The same for people. */
export function nextText(move: MoveRecord, { pins, slots, purge }: NextSteps): string {
  const { scope, terms, source, destination } = move;
  const keep =
    terms.writes === 'fenced'
      ? `the fence lifts itself ${terms.fenceMs / 1000} s after it was raised; route them before`
      : `nobody may write these rows until they are routed to ${destination}`;
  return [
    `next: ${keep}`,
    ...('slots' in scope
      ? slotsText(slots)
      : pinsText(pins, { keys: scope.keys, kind: terms.keyKind, destination })),
    `then delete them at ${source}: the same command with --confirm, or`,
    `  ${purge}`,
  ].join('\n');
}

function slotsText(slots: NextSteps['slots']): string[] {
  return [
    'give the slots away in sharding.toml, and restart every process:',
    ...Object.entries(slots).flatMap(([name, line]) => [
      `  # [[database.shards]] name = "${name}"`,
      `  ${line}`,
    ]),
  ];
}

interface PinnedKeys {
  readonly keys: readonly string[];
  readonly kind: MoveRecord['terms']['keyKind'];
  readonly destination: string;
}

function pinsText(pins: readonly string[], { keys, kind, destination }: PinnedKeys): string[] {
  if (kind === 'text')
    return ['route them, which every process does within milliseconds:', ...pins.map((pin) => `  ${pin}`)];
  const owned = printSlots(keys.map((key) => slotOf(BigInt(key))));
  return [
    `integers cannot be pinned: give slots ${owned} to ${shellWord(destination)} once all of their keys were moved (--slots)`,
  ];
}
