import { Logger } from '../logger.js';
import { Fleet } from '../shards/fleet.js';
import type { ShardingSettings } from '../sharding.settings.js';

/** Lends every database of a deployment without an application, and closes what was opened. Nothing is logged. */
export async function lendFleet<T>(
  settings: ShardingSettings,
  work: (fleet: Fleet) => Promise<T>,
): Promise<T> {
  Logger.overrideLogger(false);
  const fleet = await Fleet.create(forOneCall(settings), NO_CONTEXT);
  try {
    return await work(fleet);
  } finally {
    await fleet.close();
  }
}

/** Nothing reads what it has written. */
const NO_CONTEXT = { causalMarks: () => new Map() as never };

function forOneCall(settings: ShardingSettings): ShardingSettings {
  return { ...settings, drainTimeoutMs: 0, reads: { ...settings.reads, readYourWrites: 'off' } };
}
