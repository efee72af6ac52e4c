import type { Pins } from '../directory/pins.js';
import type { ShardingSettings } from '../sharding.settings.js';

/**
 * Lends the pins of a deployment to `work` and closes what it has opened. Without an application: no directory is
 * followed, so that a change is not waited for, and nothing is logged.
 *
 * @throws ShardingError as `Pins` does; `invalid_topology` without a control database
 */
export async function withPins<T>(settings: ShardingSettings, work: (pins: Pins) => Promise<T>): Promise<T> {
  const { Logger } = await import('@nestjs/common');
  const { DirectoryConnection } = await import('../directory/directory-connection.js');
  const { Pins } = await import('../directory/pins.js');
  const { Fleet } = await import('../shards/fleet.js');
  Logger.overrideLogger(false);
  const fleet = await Fleet.create(forOneQuestion(settings), NO_CONTEXT);
  try {
    const { control } = fleet;
    const { directory, topology, groupOf } = settings;
    const connection = new DirectoryConnection(control?.database, directory, { topology, groupOf });
    return await work(new Pins({ control, connection, selector: undefined, obeyed: 'elsewhere' }));
  } finally {
    await fleet.close();
  }
}

/** Nothing reads what it has written. */
const NO_CONTEXT = { causalMarks: () => new Map() as never };

function forOneQuestion(settings: ShardingSettings): ShardingSettings {
  return { ...settings, drainTimeoutMs: 0, reads: { ...settings.reads, readYourWrites: 'off' } };
}
