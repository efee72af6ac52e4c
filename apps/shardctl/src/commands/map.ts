import { Option } from 'commander';
import { wholeNumber } from '../arguments.js';
import { UsageError, type Verb } from '../verb.js';
import { mapAccept } from './map-accept.js';
import { mapHistory } from './map-history.js';

interface MapOptions {
  readonly yes?: true;
  readonly identifiers?: true;
  readonly limit?: number;
}

export const map: Verb<MapOptions> = {
  name: 'map',
  group: 'routing',
  usage: '<what>',
  summary: 'the slot maps that were in force: history; accept',
  description:
    'The control database remembers every slot map, and an application whose map differs in a way that loses rows does not ' +
    'boot. accept records the configured map as the newest version all the same: for who knows that the rows are where it ' +
    'says, or that there are none. It shows what changed and which slots have another owner without a verified move, and asks. ' +
    'No row is moved, and running processes keep the map that they have booted with. Exit code 1 when nothing was recorded ' +
    'although something changed.',
  options: () => [
    new Option('--yes', 'accept: without asking'),
    new Option('--identifiers', 'accept: also identifiers that changed, which ids carry for ever'),
    new Option('--limit <versions>', 'history: the newest ones (default: 20)').argParser(
      wholeNumber(1, 10_000),
    ),
  ],
  examples: [
    ['map history', 'versions with their shards, and what changed'],
    ['map accept', 'what would be accepted; on a terminal it asks'],
    ['map accept --yes --json', 'in a script'],
  ],
  async run({ args: [what], options }, session) {
    if (what === 'history') {
      if (options.yes ?? options.identifiers) {
        throw new UsageError('--yes and --identifiers do not belong to map history');
      }
      return mapHistory(options, session);
    }
    if (what !== 'accept') throw new UsageError('behind map stands history or accept');
    if (options.limit !== undefined) throw new UsageError('--limit does not belong to map accept');
    return mapAccept(options, session);
  },
};
