import { SLOT_COUNT, printSlots } from '@app/routing';
import { shardOption } from '../arguments.js';
import { table } from '../output/table.js';
import type { Topology } from '@app/routing';
import type { Verb } from '../verb.js';

interface ShardSlots {
  readonly shard: string;
  readonly group: number;
  readonly slots: number;
  /** Of the slots of its group, 0 to 100. */
  readonly percent: number;
  /** `"0-8191"`; empty for a drained shard. */
  readonly ranges: readonly string[];
}

export const slots: Verb<{ shard?: string }> = {
  name: 'slots',
  group: 'routing',
  usage: '',
  summary: 'which shard owns which of the 16384 slots',
  description: 'From the configuration; no database is asked. Each group has a slot map of its own.',
  options: () => [shardOption('this shard only')],
  examples: [
    ['slots', 'all shards'],
    ['slots --shard shard1 --json', 'the ranges of one'],
  ],
  async run({ options }, session) {
    const { topology } = await session.settings();
    const rows = slotsOf(topology, options.shard);
    return {
      json: { slot_count: SLOT_COUNT, shards: rows },
      text: (style) =>
        table(
          ['shard', 'group', 'slots', 'share', 'ranges'],
          rows.map((row) => [
            row.shard,
            row.group,
            row.slots,
            share(row.percent),
            row.ranges.join(', ') || 'drained',
          ]),
          style,
        ),
    };
  },
};

/** @throws ShardingError `unknown_shard` */
function slotsOf(topology: Topology, only?: string): ShardSlots[] {
  const shards = only === undefined ? topology.shards : [topology.byName(only)];
  return shards.map(({ name, group, slotCount }) => ({
    shard: name,
    group,
    slots: slotCount,
    percent: Math.round((slotCount / SLOT_COUNT) * 10_000) / 100,
    ranges: slotCount === 0 ? [] : printSlots(topology.slotsOfShard(name)).split(', '),
  }));
}

function share(percent: number): string {
  return `${percent} %`;
}
