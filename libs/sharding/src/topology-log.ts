import type { Logger } from '@nestjs/common';
import type { ShardingSettings } from './sharding.settings.js';

/** Shards listed one by one up to this many. */
const LISTED_SHARDS = 32;

/** One look at the boot log tells which shards own what, and whether the pools fit. No host, no secret. */
export function logTopology(settings: ShardingSettings, totalMaxConnections: number, logger: Logger): void {
  const { topology, maxConnectionsWarnThreshold: threshold } = settings;
  const { shards } = topology;
  logger.log(
    `database topology configured: shard_count=${shards.length} control=${settings.control ? 'yes' : 'no'} total_max_connections=${totalMaxConnections}`,
  );
  for (const { name, group, slotCount } of shards.slice(0, LISTED_SHARDS)) {
    const ranges = slotCount === 0 ? 'drained' : topology.rangesOfShard(name);
    logger.log(
      `shard ${name}: ${topology.groups.length > 1 ? `group=${group} ` : ''}slots=${slotCount} (${ranges})`,
    );
  }
  if (shards.length > LISTED_SHARDS) logger.log(`and ${shards.length - LISTED_SHARDS} more shards`);
  if (threshold > 0 && totalMaxConnections >= threshold) {
    logger.warn(
      `total_max_connections=${totalMaxConnections} reaches max_connections_warn_threshold=${threshold}: compare it with max_connections of the servers, times the number of processes`,
    );
  }
}
