import { fanOut, type ShardOutcome } from '@app/sharding/operator';
import { resumeStored, type Resumed } from './resume-stored.js';
import { listSagas, type SagaChoice, type SagaHead } from './saga-store.js';
import type { Shard } from '@app/sharding';

/** Shards at a time. */
const WIDTH = 8;

/** Sagas of all shards, for the command line: without their data, and without the classes of the application. */
export class StoredSagas {
  constructor(private readonly shards: readonly Shard[]) {}

  /** The oldest first, of each shard; one that fails stops no other. */
  list(choice: SagaChoice): Promise<ShardOutcome<Shard, SagaHead[]>[]> {
    return fanOut(this.shards, WIDTH, async (shard) => listSagas(await shard.primary(), choice));
  }

  /** Asks for the compensations of a stuck saga again; a relay does them. Every shard is asked whether it has it. */
  resume(sagaId: string): Promise<ShardOutcome<Shard, Resumed>[]> {
    return fanOut(this.shards, WIDTH, async (shard) => {
      const db = await shard.primary();
      return db.tx((tx) => resumeStored(tx, sagaId));
    });
  }
}
