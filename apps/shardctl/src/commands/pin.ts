import { Option } from 'commander';
import { operatorName, unusedNote, withPinsOf } from '../open-pins.js';
import type { Verb } from '../verb.js';

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
    return {
      json: { key, shard, note: note ?? null, by },
      text: () => `pinned ${JSON.stringify(key)} to ${shard}; rows that it has elsewhere were not moved`,
      notes: unusedNote(settings),
    };
  },
};
