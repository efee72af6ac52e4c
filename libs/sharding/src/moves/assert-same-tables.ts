import { ShardingError } from '@app/routing';
import { readColumnFacts } from './preflight/facts/read-columns.js';
import { readForeignKeys } from './preflight/facts/read-foreign-keys.js';
import { tableName } from './tables/moved-table.js';
import type { MovedContent } from './content.js';
import type { MoveSession } from './move-session.js';

/**
 * The columns are those that the move was planned with: others are neither copied nor proven.
 *
 * @throws ShardingError `move_refused`
 */
export async function assertSameColumns(session: MoveSession, { tables }: MovedContent): Promise<void> {
  const found = (await readColumnFacts(session, tables)).filter(({ path }) => path === '');
  const changed = tables.filter((table, place) => {
    const now = found.filter((column) => column.place === place);
    const same = now.filter(({ name, type, generated }) =>
      table.columns.some(
        (column) => column.name === name && column.type === type && column.generated === (generated !== null),
      ),
    );
    return same.length !== now.length || now.length !== table.columns.length;
  });
  if (changed.length === 0) return;
  throw new ShardingError(
    'move_refused',
    `the columns of ${changed.map(tableName).join(', ')} changed since the move was planned, and what is new would be lost: abort it and begin again`,
  );
}

/** Rows of other tables would go with those that are deleted, unseen. @throws ShardingError `move_refused` */
export async function assertNoOtherRefers(session: MoveSession, { tables }: MovedContent): Promise<void> {
  const foreign = await readForeignKeys(session, tables);
  const others = foreign.filter(({ from, to }) => from === null && to !== null);
  if (others.length === 0) return;
  const names = [...new Set(others.map(({ fromTable }) => fromTable))].join(', ');
  throw new ShardingError(
    'move_refused',
    `${names} refers to moved rows since the move was planned, and is not moved: drop its foreign key, or abort the move and begin again`,
  );
}
