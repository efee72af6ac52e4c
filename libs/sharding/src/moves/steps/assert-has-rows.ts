import { claimSide } from '../move-sides.js';
import { inTransaction } from '../move-session.js';
import { ShardingError } from '@app/routing';
import type { Mover } from '../mover.js';

/**
 * Before a copy is taken away or replaced. A purge may have committed that nobody could record: an empty source is then no
 * source that has changed.
 *
 * @throws ShardingError `move_refused`
 */
export async function assertHasRows({ source, lease }: Mover): Promise<void> {
  const { id, source: name, destination } = lease.record;
  const done = await inTransaction(source, '', () => claimSide(source, lease.record, 'source'));
  if (!done?.purged) return;
  throw new ShardingError(
    'move_refused',
    `the rows of move ${id} at ${name} were deleted, and those at ${destination} are the only ones: end it with purge`,
  );
}
