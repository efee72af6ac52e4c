import { runMove } from './move-run.js';
import { purgedReport } from './move-slot.js';
import type { Verb } from '../verb.js';

export const purge: Verb = {
  name: 'purge',
  group: 'moving',
  usage: '<id>',
  summary: 'delete the verified rows of a move at its source',
  description:
    'The same as move-slot --confirm, by the id that moves lists, or its beginning. Refused while one of the keys is routed to ' +
    'the source, or a living process does not know the new route. Rows that are not those that were verified stop it: ' +
    'nothing is deleted then.',
  options: () => [],
  examples: [['purge 5d0f0f4e', 'once they are routed to the other shard']],
  async run({ args: [id = ''] }, session) {
    return runMove(session, {
      work: (moves, call) => moves.purge(id, call),
      again: ['purge'],
      done: purgedReport,
    });
  },
};
