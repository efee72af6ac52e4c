import { InvalidArgumentError, Option } from 'commander';
import { shardOption, wholeNumber } from '../arguments.js';
import { auditJson, auditNotes, auditText } from '../output/audit-text.js';
import { withMovesOf } from './move-run.js';
import type { AuditRequest } from '@app/sharding/operator';
import type { ShardingSettings } from '@app/sharding/config';
import type { Verb } from '../verb.js';

/** What `repair` understands too. */
export interface AuditedOptions {
  readonly shard?: string;
  readonly keyColumn: string;
  readonly int?: true;
  readonly throttle?: number;
}

interface AuditOptions extends AuditedOptions {
  readonly sample: number;
  readonly resume?: string;
}

export function auditedOptions(): Option[] {
  return [
    shardOption('this shard only; for rows of strangers the others are asked too'),
    new Option('--key-column <name>', 'the column with the routing key').default('tenant_id'),
    new Option('--int', 'the keys are routed as integers, not as text'),
    new Option('--throttle <keys>', 'at most so many keys per second').argParser(
      wholeNumber(1, 1_000_000_000),
    ),
  ];
}

export function auditRequest({ shard, keyColumn, int, throttle }: AuditedOptions): AuditRequest {
  return {
    keyColumn,
    ...(shard !== undefined && { shards: [shard] }),
    ...(int && { keyKind: 'integer' }),
    ...(throttle !== undefined && { throttle }),
  };
}

export const audit: Verb<AuditOptions> = {
  name: 'audit',
  group: 'moving',
  usage: '',
  summary: 'rows on the wrong shard, on two shards, or of nobody',
  description:
    'Goes through the keys of every table with the key column, on every shard, and asks where each is routed. Finds: misplaced ' +
    '(rows of a key that is routed elsewhere), two_homes (and other shards have rows of it too), leftover (of moves that were ' +
    'aborted, are unknown or are not worked on), orphan (a foreign key that is not valid, or switched off, refers to nothing), ' +
    'unroutable (no key, or one that leads nowhere), unreachable (not looked at). Keys of open moves are told as moving.\n\n' +
    'It only reads, in short transactions. After an interrupt it says how to go on. Exit code 1 when something is found; moving, ' +
    'and what ended moves have left for more than a day, change nothing.',
  options: () => [
    ...auditedOptions(),
    new Option('--sample <percent>', 'of the keys; every shard looks at the same ones')
      .default(100)
      .argParser(percent),
    new Option('--resume <cursor>', 'go on where an interrupted audit was'),
  ],
  examples: [
    ['audit', 'everything'],
    ['audit --shard shard1 --sample 5', 'a twentieth of the keys of one shard'],
    ['audit --throttle 2000', 'slowly, beside an application'],
    ['audit --json | jq -r \'.findings[] | select(.kind == "misplaced") | .key\'', 'keys alone'],
  ],
  async run({ options }, session) {
    const { sample, resume } = options;
    const request = {
      ...auditRequest(options),
      samplePercent: sample,
      ...(resume !== undefined && { after: resume }),
    };
    const { signal } = session;
    const report = await withMovesOf(session, (moves) => moves.audit(request, { signal }));
    const { isClean } = await import('@app/sharding/operator');
    return {
      json: auditJson(report),
      text: (style) => auditText(report, style),
      outcome: report.complete && isClean(report.findings) ? 'ok' : 'failed',
      notes: [...auditNotes(report), ...groupNotes(await session.settings())],
    };
  },
};

/** An application's groupOf is code. */
function groupNotes({ topology }: ShardingSettings): string[] {
  if (topology.groups.length === 1) return [];
  return [
    'group 0 is assumed where the directory says no other one: what an application’s groupOf says is not known here',
  ];
}

function percent(text: string): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text) && value > 0 && value <= 100) return value;
  throw new InvalidArgumentError('It is a number above 0 and at most 100.');
}
