import { ShardingError } from '@app/routing';
import { ScatterRepository } from './scatter/scatter-repository.js';
import { crossShardFinders } from './cross-shard-finder.decorator.js';
import { ShardedRepository } from './sharded-repository.js';
import { placedOptionsOf, tenantScopeOf } from './sharded-entity.js';
import type { ExecutionContext } from '@nestjs/common';
import type { ObjectLiteral } from 'typeorm';
import type { CrossShardAccess } from '../sharding.options.js';
import type { CrossShardSettings } from '../sharding.settings.js';
import type { Telemetry } from '../shards/telemetry.js';
import type { ShardOutcome } from '../shards/fan-out.js';
import type { Shard } from '../shards/shard.js';
import type { EachOptions, Shards } from '../shards/shards.js';
import type { Reader } from '../shards/reads/reader.js';
import type { CrossShardRepository } from './scatter/cross-shard-repository.js';
import type { ScatterEvent } from './scatter/scatter-watch.js';
import type { ScatterSettings } from './scatter/scatter.js';
import type { EntityClass } from './sharded-entity.js';

/** What `@CrossShard()` gives without an entity: reads of every shard, by its read policy. */
export interface CrossShardFanOut {
  /** Every shard in declaration order. */
  readonly shards: readonly { readonly name: string; readonly group: number; readonly slots: number }[];
  /** Runs `work` with a reader of every shard: bounded, in order, never stopped by a failure. */
  each<T>(
    work: (reader: Reader, shard: Shard) => Promise<T> | T,
    options?: EachOptions,
  ): Promise<ShardOutcome<Shard, T>[]>;
}

/** A custom repository whose declared finders run across shards. */
export interface CrossShardFinders {
  readonly entity: EntityClass;
  readonly prototype: object;
}

/** What `@CrossShard` takes. */
export type CrossShardTarget = EntityClass | CrossShardFinders;

interface CrossShardParts {
  readonly shards: Shards;
  readonly access: CrossShardAccess | undefined;
  readonly scatter: ScatterSettings;
}

/** Makes the repositories that read across tenants, for those who may. */
export class CrossShardReads {
  readonly #parts: CrossShardParts;
  readonly #made = new WeakMap<object, object>();

  constructor(parts: CrossShardParts) {
    this.#parts = parts;
  }

  /** @param telemetry is told of each scatter */
  static create(settings: CrossShardSettings, shards: Shards, telemetry: Telemetry): CrossShardReads {
    const { access, scatter, cursorSecret } = settings;
    const observe = ({ method, entity, ms, missing, failure }: ScatterEvent) =>
      telemetry.scatter({ method, entity, ms, outcome: failure ?? (missing.length > 0 ? 'partial' : 'ok') });
    const secret = cursorSecret && { cursorSecret: cursorSecret.reveal() };
    return new CrossShardReads({ shards, access, scatter: { scatter, observe, ...secret } });
  }

  /** @throws ShardingError `cross_shard_denied` */
  async assertMay(context: ExecutionContext): Promise<void> {
    if ((await this.#decide(context)) !== true) throw denied();
  }

  /** The same outside of a handler. @throws ShardingError `cross_shard_denied` */
  assertMayNow(): void {
    if (this.#decide(undefined) !== true) throw denied();
  }

  /**
   * The repository of all shards, instead of one.
   *
   * @param bound what binds that one to a database or key
   * @throws ShardingError `cross_shard_denied`; `invalid_options` for one that is bound
   */
  acrossTenants(entity: EntityClass, bound: unknown): CrossShardRepository<ObjectLiteral> {
    if (bound !== undefined) {
      throw new ShardingError(
        'invalid_options',
        'acrossTenants() is not for a repository of one database or key',
      );
    }
    this.assertMayNow();
    return this.repositoryOf(entity);
  }

  /** One repository a class, made at its first use. */
  repositoryOf(target: CrossShardTarget): CrossShardRepository<ObjectLiteral> {
    const known = this.#made.get(target);
    if (known) return known as CrossShardRepository<ObjectLiteral>;
    const custom = target.prototype instanceof ShardedRepository;
    const entity = custom ? (target as CrossShardFinders).entity : (target as EntityClass);
    if (!placedOptionsOf(entity)) tenantScopeOf(entity);
    const { shards, scatter } = this.#parts;
    const repository = new ScatterRepository(entity, { shards, options: scatter });
    if (custom) addFinders(repository, target);
    this.#made.set(target, repository);
    return repository;
  }

  /** The repository of all shards of an entity with a strategy, whose rows belong to nobody. */
  placedRepository<E extends ObjectLiteral>(
    entity: EntityClass<E>,
    settings: Pick<ScatterSettings, 'reads' | 'loaded'>,
  ): CrossShardRepository<E> {
    const { shards, scatter } = this.#parts;
    return new ScatterRepository(entity, { shards, options: { ...scatter, ...settings } });
  }

  fanOut(): CrossShardFanOut {
    const { shards } = this.#parts;
    return {
      shards: shards.all().map(({ name, group, slots }) => ({ name, group, slots })),
      each: (work, options) => shards.eachReader(work, options),
    };
  }

  #decide(context: ExecutionContext | undefined): boolean | Promise<boolean> {
    const { access } = this.#parts;
    if (access) return access(context);
    throw new ShardingError(
      'cross_shard_denied',
      'nobody may read across tenants: set crossShardAccess: (context) => boolean in ShardingModule.forRoot()',
    );
  }
}

/** The finders run as they are written, on the repository of all shards. */
function addFinders(repository: object, { prototype }: CrossShardTarget): void {
  for (const [name, finder] of crossShardFinders(prototype as object)) {
    Object.defineProperty(repository, name, { value: finder.bind(repository) });
  }
}

function denied(): ShardingError {
  return new ShardingError(
    'cross_shard_denied',
    'crossShardAccess does not allow this caller to read across tenants',
  );
}
