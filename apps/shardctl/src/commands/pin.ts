import { Option } from 'commander';
import { failureOf } from '../failure.js';
import { operatorName, unusedNote, withPinsOf } from '../open-pins.js';
import { withMovesOf } from './move-run.js';
import type { Session, Verb } from '../verb.js';

export interface SignedOptions {
  readonly note?: string;
  readonly by?: string;
}

/** Of every verb that changes the directory. */
export function noteOption(): Option {
  return new Option('--note <text>', 'why; kept in the log, and with the row');
}

export function byOption(): Option {
  return new Option('--by <who>', 'who, for the log (default: your login)');
}

export const pin: Verb<SignedOptions> = {
  name: 'pin',
  group: 'directory',
  usage: '<key> <shard>',
  summary: 'pin a key to a shard of its group',
  description:
    'Every process routes by it within milliseconds. The rows that the key has already are NOT moved: move them first. ' +
    'A shard outside of the key’s group is refused.',
  options: () => [noteOption(), byOption()],
  examples: [
    ["pin acme shard1 --note 'needs a shard of its own'", 'an exception from the slot map'],
    ['pin -- -5 shard0', 'a key that begins with a dash'],
  ],
  async run({ args: [key = '', shard = ''], options }, session) {
    const settings = await session.settings();
    const { by = operatorName(), note } = options;
    await withPinsOf(settings, (pins) => pins.pin(key, shard, { by, ...(note !== undefined && { note }) }));
    const admitted = await admit(key, shard, session);
    return {
      json: { key, shard, note: note ?? null, by },
      text: () => `pinned ${JSON.stringify(key)} to ${shard}; rows that it has elsewhere were not moved`,
      notes: [...unusedNote(settings), ...admitted],
    };
  },
};

/** A slot that has left a shard leaves no room there for new keys of it, until somebody says that they live there. */
async function admit(key: string, shard: string, session: Session): Promise<string[]> {
  try {
    const { signal } = session;
    const refused = await withMovesOf(session, (moves) => moves.admit(key, shard, { signal }));
    return refused ? [`its slot had left ${shard} by a move: it is an exception of that now`] : [];
  } catch (error) {
    const { code, message } = failureOf(error); // the pin is written, whatever this comes to
    if (code === 'migrations_pending') return []; // where no move ever was
    return [
      `whether its slot has left ${shard} by a move was not looked at (${message}): shardctl audit tells`,
    ];
  }
}
