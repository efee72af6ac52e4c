import { ShardingError } from '@app/routing';
import { checkWhere } from '../tenant-conditions.js';
import { readAt } from '../tenant-place.js';
import { firstFound, onEach } from './first-found.js';
import { named } from './loaded-entities.js';
import type { EntityMetadata, FindManyOptions, FindOneOptions, ObjectLiteral, Repository } from 'typeorm';
import type { Shard } from '../../shards/shard.js';
import type { ShardDb } from '../../shards/shard-db.js';
import type { ReadFrom } from '../tenant-place.js';
import type { LoadedEntities } from './loaded-entities.js';
import type { Places } from './placement.js';

interface PlacedReaderParts {
  readonly metadata: EntityMetadata;
  readonly loaded: LoadedEntities;
  readonly readFrom: ReadFrom;
  readonly db?: ShardDb | undefined;
}

/** The reads of one entity on the shards where its rows may be: one nearly always. */
export class PlacedReader<E extends ObjectLiteral> {
  readonly #parts: PlacedReaderParts;

  constructor(parts: PlacedReaderParts) {
    this.#parts = parts;
  }

  async find(shards: Places, options: FindManyOptions<E>): Promise<E[]> {
    this.#check(shards, options);
    const lists = await onEach(shards, (shard) =>
      this.#noted(shard, (repository) => repository.find(options)),
    );
    return lists.length === 1 ? (lists[0] ?? []) : lists.flat();
  }

  findOne(shards: Places, options: FindOneOptions<E>): Promise<E | null> {
    this.#check(shards, options);
    const ask = (shard: Shard) => this.#read(shard, (repository) => repository.findOne(options));
    return firstFound(shards, { ask }).then((found) => {
      if (found) this.#parts.loaded.note([found.value], found.shard);
      return found?.value ?? null;
    });
  }

  async count(shards: Places, options: FindManyOptions<E>): Promise<number> {
    this.#check(shards, options);
    const counts = await onEach(shards, (shard) =>
      this.#read(shard, (repository) => repository.count(options)),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  async exists(shards: Places, options: FindManyOptions<E>): Promise<boolean> {
    this.#check(shards, options);
    const ask = async (shard: Shard) =>
      (await this.#read(shard, (repository) => repository.exists(options))) ? true : null;
    return (await firstFound(shards, { ask })) !== null;
  }

  async #noted(shard: Shard, read: (repository: Repository<E>) => Promise<E[]>): Promise<E[]> {
    const rows = await this.#read(shard, read);
    this.#parts.loaded.note(rows, shard);
    return rows;
  }

  #read<T>(shard: Shard, read: (repository: Repository<E>) => Promise<T>): Promise<T> {
    const { metadata, readFrom, db } = this.#parts;
    return readAt({ shard, db }, readFrom, (manager) =>
      read(manager.getRepository<E>(metadata.target as never)),
    );
  }

  /** Rows of several shards have no order, and no first ones. */
  #check(shards: Places, options: FindManyOptions<E>): void {
    const { metadata } = this.#parts;
    checkWhere(options.where, metadata, undefined);
    if (shards.length < 2) return;
    const refused = (['order', 'skip', 'take'] as const).find((name) => options[name] !== undefined);
    if (!refused) return;
    throw new ShardingError(
      'cross_shard_unsupported',
      `the rows of ${metadata.name} may be on ${named(shards)}: "${refused}" is of one shard, or of all with { scatter: true }`,
    );
  }
}
