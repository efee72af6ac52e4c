import { Logger } from '@nestjs/common';
import type { PlaceOptions, ShardIdentifier, TopologyShard, UnregisteredShard } from '@app/routing';
import type { Telemetry } from '../../shards/telemetry.js';

const logger = new Logger('placement');

interface UnregisteredShardsParts {
  readonly entity: string;
  readonly policy: UnregisteredShard | undefined;
  readonly telemetry: Telemetry;
}

/** What becomes of places that name no shard, of one entity: an error, or a stand-in that is logged and counted. */
export class UnregisteredShards {
  /** How often a stand-in served, by identifier: `(0,7)`. */
  readonly counts = new Map<string, number>();
  readonly options: PlaceOptions;

  constructor({ entity, policy, telemetry }: UnregisteredShardsParts) {
    const onDefault = (identifier: ShardIdentifier, standIn: TopologyShard) => {
      const name = identifier.toString();
      const count = (this.counts.get(name) ?? 0) + 1;
      this.counts.set(name, count);
      telemetry.standIn({ entity, shard: standIn.name });
      if (count > 1) return;
      logger.warn(
        `${entity}: no shard has the identifier ${name}, and shard "${standIn.name}" stands in for it: move its rows when the shard comes`,
      );
    };
    this.options = policy === 'default' ? { unregisteredShard: policy, onDefault } : {};
  }
}
