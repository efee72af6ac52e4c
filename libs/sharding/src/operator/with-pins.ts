import type { Pins } from '../directory/pins.js';
import type { ShardingSettings } from '../sharding.settings.js';

/**
 * Lends the pins of a deployment to `work` and closes what it has opened. Without an application: no directory is
 * followed, so that a change is not waited for, and nothing is logged.
 *
 * @throws ShardingError as `Pins` does; `invalid_topology` without a control database
 */
export async function withPins<T>(settings: ShardingSettings, work: (pins: Pins) => Promise<T>): Promise<T> {
  const { DirectoryConnection } = await import('../directory/directory-connection.js');
  const { Pins } = await import('../directory/pins.js');
  const { lendFleet } = await import('./lend-fleet.js');
  return lendFleet(settings, ({ control }) => {
    const { directory, topology, groupOf } = settings;
    const connection = new DirectoryConnection(control?.database, directory, { topology, groupOf });
    return work(new Pins({ control, connection, selector: undefined, obeyed: 'elsewhere' }));
  });
}
