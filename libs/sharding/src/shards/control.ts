import { ShardingError } from '@app/routing';
import { Reader } from './reads/reader.js';
import type { DataSource, EntityTarget, ObjectLiteral } from 'typeorm';
import type { Database } from './database.js';
import type { Reads } from './reads/reads.js';

/**
 * The control database: framework state and unsharded tables, never sharded rows. Its `DataSource` exists from boot and
 * opens at its first statement, so that a control database that is down stops neither the boot nor any shard.
 */
export class Control {
  constructor(
    readonly reads: Reads,
    private readonly source: DataSource,
  ) {}

  get database(): Database {
    return this.reads.primary;
  }

  /** Reads by the same policy as those of a shard. */
  reader(): Reader {
    return new Reader({ reads: this.reads, mode: 'policy' });
  }

  /**
   * @param sharded the entities that live on shards; empty when the control database is the only shard
   */
  static async create(reads: Reads, sharded: readonly unknown[]): Promise<Control> {
    const source = await reads.primary.build();
    await source['buildMetadatas'](); // repositories are usable before the first connection
    refuseShardedEntities(source, new Set(sharded));
    return new Control(reads, source);
  }

  get dataSource(): DataSource {
    return this.source;
  }
}

function refuseShardedEntities(source: DataSource, sharded: ReadonlySet<unknown>): void {
  const getMetadata = source.getMetadata.bind(source);
  source.getMetadata = (target: EntityTarget<ObjectLiteral>) => {
    if (sharded.has(target)) {
      const name = typeof target === 'function' ? target.name : 'this entity';
      throw new ShardingError(
        'sharded_entity_on_control',
        `${name} lives on shards, not on the control database: use ShardedDb, or Shards.dbFor(key)`,
      );
    }
    return getMetadata(target);
  };
}
