import { Option } from 'commander';
import { seconds, shardOption } from '../arguments.js';
import { compareSchemas } from '../compare-schemas.js';
import { comparisonText } from '../output/schema-text.js';
import { UsageError, type Verb } from '../verb.js';

interface DiffOptions {
  readonly shard?: string;
  readonly timeout: number;
}

export const schema: Verb<DiffOptions> = {
  name: 'schema',
  group: 'databases',
  usage: '<diff>',
  summary: 'diff: what the shards do not have in common',
  description:
    'Compares the catalogs of all shards in read-only transactions: tables with columns and partitions, indexes, also ' +
    'invalid ones, constraints, triggers, rules, policies and row security, sequences, views, types, functions, extensions, ' +
    'collations. What most shards have is taken as usual, and the odd ones are named. Where sequences stand, owners, ' +
    'privileges and comments are their own. Exit code 1 when something differs, or a shard could not be read: the others ' +
    'are compared all the same.',
  options: () => [
    shardOption('only what this shard has otherwise than most; all are read'),
    new Option('--timeout <seconds>', 'bound of each shard').default(30).argParser(seconds(3600)),
  ],
  examples: [
    ['schema diff', 'all shards'],
    ['schema diff --shard shard1', 'how shard1 differs from most'],
    ["schema diff --json | jq -r '.differences[].name'", 'the names alone'],
  ],
  async run({ args: [what], options: { shard, timeout } }, session) {
    if (what !== 'diff') throw new UsageError('the only word behind schema is diff: shardctl schema diff');
    const { differencesOf, shardPlaces } = await import('@app/sharding/operator');
    const settings = await session.settings();
    if (shard !== undefined) settings.topology.byName(shard);
    const limitMs = Math.ceil(timeout * 1000);
    const all = await compareSchemas(shardPlaces(settings), { limitMs, signal: session.signal });
    const found = shard === undefined ? all : { ...all, differences: differencesOf(shard, all.differences) };
    const { compared, failed, differences } = found;
    return {
      json: { shards: compared, failed, differences },
      text: (style) => comparisonText(found, style),
      outcome: differences.length + failed.length === 0 ? 'ok' : 'failed',
    };
  },
};
