import { setTimeout as pause } from 'node:timers/promises';
import { ShardingError } from '@app/routing';
import { described, lockHolders } from './lock-holders.js';
import { PATIENCE_MS } from './with-fence-lock.js';
import { tableName } from '../tables/moved-table.js';
import { treesOf } from './guarded-table.js';
import type { FencePatience } from './with-fence-lock.js';
import type { MoveSession } from '../move-session.js';
import type { MovedTable } from '../tables/moved-table.js';

/** What a transaction holds that has written rows, or has truncated or rewritten the table. */
const WRITERS = ['RowExclusiveLock', 'AccessExclusiveLock'];
const PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 200;

/**
 * Waits for the transactions that were writing before the fence had committed: they may have passed it. Those that begin to write later
 * are refused, and are not waited for.
 *
 * @throws ShardingError `move_refused`, which names those that were still there at the limit
 */
export async function waitForWriters(
  session: MoveSession,
  tables: readonly Pick<MovedTable, 'schema' | 'name'>[],
  { limitMs = PATIENCE_MS, signal }: FencePatience,
): Promise<void> {
  const deadline = performance.now() + limitMs;
  const trees = await treesOf(session, tables);
  let writers = await lockHolders(session, trees, WRITERS);
  for (let ms = PAUSE_MS; writers.length > 0; ms = Math.min(2 * ms, LONGEST_PAUSE_MS)) {
    if (performance.now() >= deadline) {
      const names = tables.map(tableName).join(', ');
      const message = `transactions that write ${names} did not end within ${limitMs} ms: ${described(writers)}`;
      throw new ShardingError('move_refused', message);
    }
    const left = Math.max(1, deadline - performance.now());
    await pause(Math.min(ms, left), undefined, { ...(signal && { signal }) });
    const before = new Set(writers.map(({ transaction }) => transaction));
    const now = await lockHolders(session, trees, WRITERS);
    writers = now.filter(({ transaction }) => before.has(transaction));
  }
}
