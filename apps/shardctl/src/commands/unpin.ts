import { operatorName, withPinsOf } from '../open-pins.js';
import { byOption, noteOption, type SignedOptions } from './pin.js';
import type { Verb } from '../verb.js';

export const unpin: Verb<SignedOptions> = {
  name: 'unpin',
  group: 'directory',
  usage: '<key>',
  summary: 'take a pin away',
  description:
    'The key then lives where the slot map says, and keeps its group. Rows on the shard it was pinned to are NOT moved. ' +
    'Exit code 1 when there was no pin.',
  options: () => [noteOption(), byOption()],
  examples: [['unpin acme', 'back to the slot map']],
  async run({ args: [key = ''], options: { by = operatorName(), note } }, session) {
    const removed = await withPinsOf(await session.settings(), (pins) =>
      pins.unpin(key, { by, ...(note !== undefined && { note }) }),
    );
    return {
      json: { key, removed, note: note ?? null, by },
      text: () =>
        removed
          ? `unpinned ${JSON.stringify(key)}; rows on the shard it was pinned to were not moved`
          : `${JSON.stringify(key)} had no pin`,
      outcome: removed ? 'ok' : 'failed',
    };
  },
};
