import { Option } from 'commander';
import { SlotUuid } from '@app/routing';
import { groupOption } from '../arguments.js';
import { askedKeys, type KeyForm } from '../asked-keys.js';
import { askDirectory, type DirectoryAnswers } from '../directory-answers.js';
import { table } from '../output/table.js';
import { placeId, placeKey, type AskedKey, type Placement } from '../placement.js';
import type { PlacementRules } from '../placement.js';
import type { Style } from '../output/style.js';
import type { Verb } from '../verb.js';

interface RouteOptions {
  readonly int?: true;
  readonly uuid?: true;
  readonly group?: number;
}

export const route: Verb<RouteOptions> = {
  name: 'route',
  group: 'routing',
  usage: '<key...>',
  summary: 'key -> slot -> group -> shard, and why',
  description:
    'Text and integers are different keys: 42 and --int 42 are not in the same slot. With the directory enabled the ' +
    'control database is asked for pins, for at most two seconds; where it does not answer, the slot map alone is told, ' +
    'and the exit code is 1.',
  options: () => [
    new Option('--int', 'the keys are integers').conflicts('uuid'),
    new Option('--uuid', 'the keys are ids that route themselves: ShardedUuid or SlotUuid'),
    groupOption('as if the application’s groupOf said this group').conflicts('uuid'),
  ],
  examples: [
    ['route acme globex 42 --json', 'three tenants, as text'],
    ['route --int 42', 'an integer key'],
    ['route --uuid 01890a5d-ac96-774b-8000-000000000000', 'the shard that an id names'],
    ['route acme --group 1', 'in another group'],
  ],
  async run({ args, options }, session) {
    const keys = askedKeys(args, formOf(options));
    const settings = await session.settings();
    const rules = { topology: settings.topology, group: options.group };
    const slots = keys.filter(({ kind }) => kind === 'slot_uuid').map(({ text }) => SlotUuid.slot(text));
    const directory = await askDirectory(settings, { keys, slots, rules }, session.signal);
    const routes = keys.map((key) => place(key, rules, directory));
    const failed = directory.state === 'unavailable' || routes.some(({ error }) => error !== null);
    return {
      json: { directory: { state: directory.state, error: directory.error }, routes },
      text: (style) => routesTable(routes, style),
      outcome: failed ? 'failed' : 'ok',
      notes: [...directoryNotes(directory), ...groupNotes(routes, rules)],
    };
  },
};

function formOf({ int, uuid }: RouteOptions): KeyForm {
  if (int) return 'integer';
  return uuid ? 'uuid' : 'text';
}

function place(
  key: AskedKey,
  rules: PlacementRules,
  { answers, shardsOfSlots }: DirectoryAnswers,
): Placement {
  if (key.kind === 'slot_uuid' || key.kind === 'sharded_uuid') {
    return placeId(key, rules, (slot) => shardsOfSlots.get(slot) ?? []);
  }
  return placeKey(key, rules, key.kind === 'text' ? answers.get(key.text) : undefined);
}

const REASONS = {
  hash: 'hash',
  pin: 'pin',
  placed: 'group of the directory, then hash',
  id: 'id bits',
} as const;

/** What is said of each key, as a table. */
export function routesTable(routes: readonly Placement[], style?: Style): string {
  return table(
    ['key', 'slot', 'group', 'shard', 'why'],
    routes.map((one) => [one.key, one.slot, one.group, one.shard, why(one)]),
    style,
  );
}

function why({ reason, note, also, member, created_at, error, group }: Placement): string {
  const parts = [
    member === null ? REASONS[reason] : `${REASONS[reason]} (${group},${member})`,
    note,
    created_at && `of ${created_at}`,
    also.length > 0 ? `pinned keys of the slot: also ${also.join(', ')}` : null,
    error && `error: ${error.message}`,
  ];
  return parts.filter(Boolean).join('; ');
}

function directoryNotes({ state, error }: DirectoryAnswers): string[] {
  if (state !== 'unavailable') return [];
  return [
    `the directory could not be asked (${error?.code}: ${error?.message}); pins and groups in it are not considered`,
  ];
}

function groupNotes(routes: readonly Placement[], { topology, group }: PlacementRules): string[] {
  const assumed = group === undefined && routes.some(({ reason }) => reason === 'hash');
  if (!assumed || topology.groups.length === 1) return [];
  return [
    'group 0 is assumed where nothing says another one; an application’s groupOf is not known here, see --group',
  ];
}
