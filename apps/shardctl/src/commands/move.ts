import { Option } from 'commander';
import { UsageError, type Verb } from '../verb.js';
import { moveAbort } from './move-abort.js';
import { moveResume } from './move-resume.js';
import { moveShow } from './move-show.js';

export const move: Verb<{ readonly yes?: true }> = {
  name: 'move',
  group: 'moving',
  usage: '<what> <id>',
  summary: 'show, resume, abort: one move',
  description:
    'The id is what moves lists, or its beginning. show reads only. resume goes on with an interrupted move as it was asked for, ' +
    'up to verified. abort deletes the copy and ends the move; it is refused once one of the keys is routed to the copy. It asks.',
  options: () => [new Option('--yes', 'abort: without asking')],
  examples: [
    ['move show 5d0f0f4e', 'states with their times, tables with their rows, who, and who works on it'],
    ['move resume 5d0f0f4e', 'after an interrupt'],
    ['move abort 5d0f0f4e --yes', 'in a script'],
  ],
  async run({ args: [what, id = ''], options: { yes } }, session) {
    if (what === 'abort') return moveAbort(id, yes ? 'agreed' : 'asks', session);
    if (what !== 'show' && what !== 'resume') {
      throw new UsageError('behind move stands show, resume or abort, and an id');
    }
    if (yes) throw new UsageError(`--yes does not belong to move ${what}`);
    return what === 'show' ? moveShow(id, session) : moveResume(id, session);
  },
};
