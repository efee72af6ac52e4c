import { ShardingError } from '@app/routing';
import type { Fleet } from '../shards/fleet.js';
import type { MoveFleet } from './mover.js';
import type { ShardingSettings } from '../sharding.settings.js';

/** What moves need of a deployment. @throws ShardingError `invalid_topology` without a control database */
export function moveFleet(fleet: Fleet, settings: ShardingSettings): MoveFleet {
  const { topology, directory, groupOf, moveCertificateSecret } = settings;
  const { control } = fleet;
  if (!control) {
    throw new ShardingError(
      'invalid_topology',
      'moves are recorded on the control database: configure [database] primary_url',
    );
  }
  return {
    topology,
    control: control.database,
    shard(name) {
      topology.byName(name);
      const shard = fleet.shards.find((each) => each.name === name);
      if (!shard) throw new ShardingError('unknown_shard', `shard "${name}" has no database`);
      return shard.database;
    },
    directory: directory.enabled ? 'obeyed' : 'ignored',
    groupOf,
    certificateSecret: moveCertificateSecret,
  };
}
