import { Option } from 'commander';
import { wholeNumber } from '../arguments.js';
import { withPinsOf } from '../open-pins.js';
import { table } from '../output/table.js';
import type { Verb } from '../verb.js';

interface PageOptions {
  readonly after?: string;
  readonly limit: number;
}

export const pins: Verb<PageOptions> = {
  name: 'pins',
  group: 'directory',
  usage: '',
  summary: 'list the directory, a page at a time',
  description: 'In the order of the keys. Where there are more, stderr says how to go on.',
  options: () => [
    new Option('--after <key>', 'the last key of the page before'),
    new Option('--limit <rows>', 'rows of a page').default(100).argParser(wholeNumber(1, 10_000)),
  ],
  examples: [
    ['pins', 'the first hundred'],
    ['pins --after acme --limit 1000 --json', 'the next thousand'],
  ],
  async run({ options: { after, limit } }, session) {
    const found = await withPinsOf(await session.settings(), (directory) =>
      directory.list({ limit, ...(after !== undefined && { after }) }),
    );
    const rows = found.map(({ key, shard, group, note, updatedAt }) => ({
      key,
      shard: shard ?? null,
      group: group ?? null,
      note: note ?? null,
      updated_at: updatedAt.toISOString(),
    }));
    const last = rows.length === limit ? (rows.at(-1)?.key ?? null) : null;
    return {
      json: { pins: rows, next_after: last },
      text: (style) =>
        rows.length === 0
          ? 'no pins'
          : table(
              ['key', 'shard', 'group', 'note', 'updated at'],
              rows.map((row) => [row.key, row.shard, row.group, row.note, row.updated_at]),
              style,
            ),
      notes: last === null ? [] : [`there may be more: --after ${JSON.stringify(last)}`],
    };
  },
};
