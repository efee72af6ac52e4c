import { Option } from 'commander';
import { wholeNumber } from '../arguments.js';
import { moveJson, movesText } from '../output/move-text.js';
import { withMovesOf } from './move-run.js';
import type { Verb } from '../verb.js';

export const moves: Verb<{ readonly limit: number }> = {
  name: 'moves',
  group: 'moving',
  usage: '',
  summary: 'list the moves, the newest first',
  description:
    'From the control database. held until: a mover works on it, or has died and left it until then.',
  options: () => [
    new Option('--limit <moves>', 'the newest ones').default(100).argParser(wholeNumber(1, 10_000)),
  ],
  examples: [
    ['moves', 'the newest hundred'],
    ['moves --limit 1 --json', 'the last one, with everything about it'],
  ],
  async run({ options: { limit } }, session) {
    const { signal } = session;
    const found = await withMovesOf(session, (records) => records.list({ limit, signal }));
    return { json: { moves: found.map(moveJson) }, text: (style) => movesText(found, style) };
  },
};
