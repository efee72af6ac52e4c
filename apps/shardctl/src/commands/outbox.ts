import { Option } from 'commander';
import { shardOption, wholeNumber } from '../arguments.js';
import { UsageError, type Verb } from '../verb.js';
import { outboxDead } from './outbox-dead.js';
import { outboxRequeue } from './outbox-requeue.js';
import { outboxStatus } from './outbox-status.js';
import type { OutboxVerbOptions } from './outbox-shards.js';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export const outbox: Verb<OutboxVerbOptions> = {
  name: 'outbox',
  group: 'actions',
  usage: '<what> [ids...]',
  summary: 'the events of the shards: status; dead; requeue',
  description:
    'status: how many events wait on each shard, how old the oldest is, and whether a relay delivers. dead: the dead letters, ' +
    'the newest first, without what they carry. requeue: makes dead letters wait again, by their ids, by --type, or --all; ' +
    'later events of the same aggregates were delivered before them. Exit code 1 when a shard does not answer, or when an id ' +
    'is no dead letter.',
  options: () => [
    shardOption('this shard only'),
    new Option('--type <type>', 'dead, requeue: events of this type'),
    new Option('--all', 'requeue: every dead letter'),
    new Option('--limit <events>', 'dead: of each shard (default: 100)').argParser(wholeNumber(1, 10_000)),
  ],
  examples: [
    ['outbox status', 'what waits on each shard'],
    ['outbox dead --type wallet.opened --json', 'what nobody could take'],
    ['outbox requeue 0198c5a4-0000-7000-8000-000000000000', 'once the handler is repaired'],
    ['outbox requeue --shard shard0 --all', 'every dead letter of a shard'],
  ],
  async run({ args: [what, ...ids], options }, session) {
    const { type, all, limit } = options;
    if (what !== 'dead' && limit !== undefined) throw new UsageError('--limit belongs to outbox dead');
    if (what !== 'requeue' && (all || ids.length > 0))
      throw new UsageError('ids and --all belong to outbox requeue');
    if (what === 'status' && type !== undefined)
      throw new UsageError('--type does not belong to outbox status');
    if (what === 'status') return outboxStatus(options, session);
    if (what === 'dead') return outboxDead(options, session);
    if (what !== 'requeue') throw new UsageError('behind outbox stands status, dead or requeue');
    if ([ids.length > 0, type !== undefined, all === true].filter(Boolean).length !== 1) {
      throw new UsageError('say what to requeue: ids, or --type, or --all');
    }
    const wrong = ids.find((id) => !UUID.test(id));
    if (wrong !== undefined)
      throw new UsageError(`${JSON.stringify(wrong)} is no id of an event: see outbox dead`);
    return outboxRequeue(options, ids, session);
  },
};
