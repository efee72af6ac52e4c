import { isWorthTelling } from '../output/move-text.js';
import { table } from '../output/table.js';
import { rowsOf, rowsOptions, type RowsOptions } from './move-options.js';
import { withMovesOf } from './move-run.js';
import type { ComparedTable } from '@app/sharding/operator';
import type { Style } from '../output/style.js';
import type { Verb } from '../verb.js';

export const verify: Verb<RowsOptions> = {
  name: 'verify',
  group: 'moving',
  usage: '',
  summary: 'compare what two shards hold of tenants, or of whole slots',
  description:
    'Content, not only counts; at any time, reading only, each shard in a snapshot of its own: what is written meanwhile looks ' +
    'like a difference. Exit code 1 when something differs.',
  options: rowsOptions,
  examples: [
    ['verify --from shard0 --to shard1 --tenant acme', 'all tables with a tenant_id'],
    ['verify --from shard0 --to shard1 --slot 7695 --table bookmarks --json', 'one slot of one table'],
  ],
  async run({ options }, session) {
    const request = rowsOf(options);
    const { signal } = session;
    const found = await withMovesOf(session, (moves) => moves.verify(request, { signal }));
    const same = found.every((each) => each.same);
    return {
      json: {
        from: options.from,
        to: options.to,
        same,
        tables: found.map(({ table: name, sourceRows, destinationRows, same: equal }) => ({
          table: name,
          from_rows: sourceRows,
          to_rows: destinationRows,
          same: equal,
        })),
      },
      text: (style) => comparedText(found, options, style),
      outcome: same ? 'ok' : 'failed',
    };
  },
};

function comparedText(found: readonly ComparedTable[], { from, to }: RowsOptions, style: Style): string {
  return table(
    ['table', `rows at ${from}`, `rows at ${to}`, 'content'],
    found
      .filter(({ table: name, sourceRows, destinationRows }) =>
        isWorthTelling(name, sourceRows, destinationRows),
      )
      .map(({ table: name, sourceRows, destinationRows, same }) => [
        name,
        Number(sourceRows),
        Number(destinationRows),
        same ? 'same' : 'DIFFERS',
      ]),
    style,
  );
}
