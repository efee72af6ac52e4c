import { table } from '../output/table.js';
import type { ShardingSettings } from '@app/sharding/config';
import type { Verb } from '../verb.js';

export const topology: Verb = {
  name: 'topology',
  group: 'routing',
  usage: '',
  summary: 'the shards with their groups, members, slots and replicas',
  description:
    'From the configuration; no database is asked. An auto-split slot map follows from the number and order of the ' +
    'shards: pin explicit slots before you add one.',
  options: () => [],
  examples: [
    ['topology', 'as a table'],
    ["topology --json | jq '.shards[].shard'", 'the names alone'],
  ],
  async run(_call, session) {
    const facts = factsOf(await session.settings());
    const rows = facts.shards.map((shard) => [
      shard.shard,
      shard.group,
      shard.member,
      shard.drained ? 'drained' : String(shard.slots),
      shard.replica ? 'yes' : 'no',
    ]);
    return {
      json: facts,
      text: (style) =>
        [
          `control database: ${facts.control.configured ? 'yes' : 'no'}${facts.control.replica ? ', with a replica' : ''}`,
          ...facts.groups.map(
            ({ group, auto_split, shards }) =>
              `group ${group}: ${shards} ${shards === 1 ? 'shard' : 'shards'}, ${auto_split ? 'auto-split' : 'explicit'} slots`,
          ),
          '',
          table(['shard', 'group', 'member', 'slots', 'replica'], rows, style),
        ].join('\n'),
    };
  },
};

function factsOf({ topology: placed, control, controlReplica, shards, unsharded }: ShardingSettings) {
  return {
    unsharded,
    control: { configured: control !== undefined, replica: controlReplica !== undefined },
    groups: placed.groups.map((group) => ({
      group,
      shards: placed.shardsOfGroup(group).length,
      auto_split: placed.isAutoSplit(group),
    })),
    shards: placed.shards.map(({ name, index, group, identifier, slotCount }) => ({
      shard: name,
      index,
      group,
      member: identifier?.member ?? null,
      slots: slotCount,
      drained: slotCount === 0,
      replica: shards[index]?.replica !== undefined,
    })),
  };
}
