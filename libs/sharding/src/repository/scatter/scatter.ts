import { ShardingError } from '@app/routing';
import { activeTransaction } from '../../shards/transaction.js';
import { shardedEntityOptions } from '../sharded-entity.js';
import { Cursors } from './cursor.js';
import { fanOutPlan } from './fan-out-options.js';
import { withFreshTypes } from './labels.js';
import { withoutMoving } from './moving-rows.js';
import { ScatterWatch } from './scatter-watch.js';
import type { ObjectLiteral } from 'typeorm';
import type { Shards } from '../../shards/shards.js';
import type { EntityClass } from '../sharded-entity.js';
import type { AllShards, MissingShard, ScatterLimits, SomeShards } from './fan-out-options.js';
import type { Scattered } from './find-options.js';
import type { GatherParts, PlacedShard } from './gather.js';
import type { LoadedFrom, OwnedBy } from './query.js';
import type { ScatterPolicy } from '../../sharding.options.js';
import type { ScatterEnd, ScatterEvent } from './scatter-watch.js';
import type { ScatterReads } from './shard-read.js';

/** How the scatters of a repository run. */
export interface ScatterSettings {
  /** Default `allow`. */
  readonly scatter?: ScatterPolicy;
  /** Signs page cursors. Without it they end with the process, and another process does not take them. */
  readonly cursorSecret?: string;
  readonly ownedBy?: OwnedBy;
  readonly loaded?: LoadedFrom;
  /** Told of each scatter; it must not throw. */
  readonly observe?: (event: ScatterEvent) => void;
  /** Default: what `@ShardedEntity({ reads })` says, else `policy`. */
  readonly reads?: ScatterReads;
}

/** What a scatter repository is made of. */
export interface ScatterParts {
  readonly shards: Shards;
  readonly options?: ScatterSettings;
}

/** What one call came to. */
export interface ScatterAnswer {
  /** The answer where all shards are in it. */
  readonly whole: unknown;
  /** The same under names, for `missing` to stand beside. */
  readonly named: object;
  readonly rows: number;
  readonly missing: readonly MissingShard[];
}

/** One scatter that has begun; whoever begins it ends it. */
export interface WholeScatter<E extends ObjectLiteral> {
  readonly of: Scattered<E>;
  /** Before its answer is given. @throws ShardingError `shard_moved` */
  readonly check?: () => Promise<void>;
  readonly end: () => void;
}

/** The frame of every scatter: refusals before a connection is taken, one snapshot of the shards, one log line. */
export class Scatter<E extends ObjectLiteral> {
  readonly entity: EntityClass<E>;
  readonly ownedBy: OwnedBy | undefined;
  readonly loaded: LoadedFrom | undefined;
  readonly reads: ScatterReads;
  readonly cursors: Cursors;
  readonly #shards: Shards;
  readonly #watch: ScatterWatch;

  constructor(entity: EntityClass<E>, { shards, options = {} }: ScatterParts) {
    const { scatter: policy = 'allow', cursorSecret, ownedBy, loaded, observe, reads } = options;
    this.entity = entity;
    this.ownedBy = ownedBy;
    this.loaded = loaded;
    this.reads = reads ?? shardedEntityOptions(entity)?.reads ?? 'policy';
    this.cursors = cursorsOf(cursorSecret);
    this.#shards = shards;
    this.#watch = new ScatterWatch({
      entity: entity.name,
      policy,
      shards: () => shards.all().length,
      observe,
    });
  }

  /**
   * Runs one scatter; gives the answer of all shards, or with `partial` or `quorum` that of some, with who is missing.
   *
   * @throws ShardingError `scatter_denied`, `cross_shard_transaction`, `invalid_options`; `out_of_topology` for a group
   *   without shards; `shard_moved` where rows began or ended to move meanwhile and no mover could wait for it
   */
  async run(
    method: string,
    options: AllShards | SomeShards,
    work: (parts: GatherParts, of: Scattered<E>) => Promise<ScatterAnswer>,
  ): Promise<never> {
    const end = this.begin(method);
    let shards: PlacedShard[] | undefined;
    let whole: WholeScatter<E> | undefined;
    try {
      shards = this.use(options);
      const plan = fanOutPlan(options, shards.length);
      const parts = { shards, plan, reads: this.reads };
      const { of } = (whole = await this.whole());
      const answer = await withFreshTypes(() => work(parts, of));
      await whole.check?.();
      end({ ...answer, shards: shards.length });
      return (
        plan.quorum === undefined ? answer.whole : { ...answer.named, missing: answer.missing }
      ) as never;
    } catch (error) {
      end({ rows: 0, error, shards: shards?.length });
      throw error;
    } finally {
      whole?.end();
    }
  }

  /** Decides, once for all shards, which rows each of them gives. @throws ShardingError `directory_unavailable` */
  async whole(): Promise<WholeScatter<E>> {
    const { entity, loaded } = this;
    const { notOwned, ...read } = await this.#shards.beginWholeRead();
    return { of: { entity, loaded, ownedBy: withoutMoving(notOwned, this.ownedBy) }, ...read };
  }

  /** @throws ShardingError `scatter_denied`, `cross_shard_transaction` */
  begin(method: string, site?: string): (end: ScatterEnd) => void {
    const end = this.#watch.begin(method, site);
    const transaction = activeTransaction();
    if (!transaction) return end;
    const error = new ShardingError(
      'cross_shard_transaction',
      `${this.entity.name}.${method}() reads all shards and cannot be part of the transaction on ${transaction.described}: call it before or after`,
    );
    end({ rows: 0, error });
    throw error;
  }

  /** {@link placed}; the running work uses them. */
  use(options: Pick<ScatterLimits, 'group'>): PlacedShard[] {
    const placed = this.placed(options);
    this.#shards.note(placed.map(({ shard }) => shard));
    return placed;
  }

  /** The shards of now: one snapshot for a whole scatter. @throws ShardingError `out_of_topology` */
  placed({ group }: Pick<ScatterLimits, 'group'>): PlacedShard[] {
    return this.#shards.all(group).map((shard, index) => ({ shard, index }));
  }
}

/** Of this process, for cursors without a secret: repositories may be made for each call. */
const ownCursors = new Cursors(undefined);

function cursorsOf(secret: string | undefined): Cursors {
  return secret === undefined ? ownCursors : new Cursors(secret);
}
