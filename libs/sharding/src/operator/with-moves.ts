import type { Moves } from '../moves/moves.js';
import type { ShardingSettings } from '../sharding.settings.js';

/**
 * Lends the moves of a deployment to `work` and closes what it has opened. Without an application: nothing is logged.
 *
 * @throws ShardingError as `Moves` does; `invalid_topology` without a control database
 */
export async function withMoves<T>(
  settings: ShardingSettings,
  work: (moves: Moves) => Promise<T>,
): Promise<T> {
  const { moveFleet } = await import('../moves/move-fleet.js');
  const { Moves } = await import('../moves/moves.js');
  const { lendFleet } = await import('./lend-fleet.js');
  return lendFleet(settings, (fleet) => {
    const places = moveFleet(fleet, settings);
    return work(new Moves(() => places));
  });
}
