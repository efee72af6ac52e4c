import { groupOption } from '../arguments.js';
import { operatorName, unusedNote, withPinsOf } from '../open-pins.js';
import { byOption, noteOption, type SignedOptions } from './pin.js';
import type { Verb } from '../verb.js';

export const place: Verb<SignedOptions & { readonly group: number }> = {
  name: 'place',
  group: 'directory',
  usage: '<key>',
  summary: 'say for ever in which group a new key lives',
  description:
    'At the creation of a customer, before it has rows. Its data may live only on shards of that group; a key that is in ' +
    'another group already is refused.',
  options: () => [groupOption('the group').makeOptionMandatory(), noteOption(), byOption()],
  examples: [["place acme --group 1 --note 'contract of 2026'", 'acme lives in group 1']],
  async run({ args: [key = ''], options }, session) {
    const settings = await session.settings();
    const { group, by = operatorName(), note } = options;
    await withPinsOf(settings, (pins) => pins.place(key, { group, by, ...(note !== undefined && { note }) }));
    return {
      json: { key, group, note: note ?? null, by },
      text: () => `placed ${JSON.stringify(key)} in group ${group}`,
      notes: unusedNote(settings),
    };
  },
};
