import type { ShardingSettings } from '../../sharding.settings.js';
import type { Diagnosis, DoctorOptions } from './diagnose.js';

/**
 * Looks at everything a deployment is known to suffer from; loaded when it is asked for.
 *
 * @throws ShardingError `unknown_shard`; the reason of an abort
 */
export async function diagnose(settings: ShardingSettings, options: DoctorOptions): Promise<Diagnosis> {
  const loaded = await import('./diagnose.js');
  return loaded.diagnose(settings, options);
}
