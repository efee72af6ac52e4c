import { EntityNotFoundError, In } from 'typeorm';
import { ShardingError } from '@app/routing';
import { chain, promised } from '../../shards/maybe-promise.js';
import { union } from './first-found.js';
import { noPlacement, Placement } from './placement.js';
import { PlacedReader } from './placed-reader.js';
import { PlacedWriter } from './placed-writer.js';
import type {
  DeepPartial,
  DeleteResult,
  EntityMetadata,
  FindManyOptions,
  FindOneOptions,
  InsertResult,
  ObjectLiteral,
  SaveOptions,
  UpdateResult,
} from 'typeorm';
import type { QueryDeepPartialEntity } from 'typeorm/query-builder/QueryPartialEntity.js';
import type { MaybePromise } from '../../shards/maybe-promise.js';
import type { Shard } from '../../shards/shard.js';
import type { ShardDb } from '../../shards/shard-db.js';
import type { Where } from '../repository-parts.js';
import type { CrossShardRepository } from '../scatter/cross-shard-repository.js';
import type { EntityClass } from '../sharded-entity.js';
import type { IdOf } from './given-ids.js';
import type { PlacedParts } from './placed-parts.js';
import type { Places } from './placement.js';

/** Whether a read may ask every shard where the strategy does not say which. */
export interface MayScatter {
  readonly scatter?: true;
}

/** Which rows a write changes: one id, several, or conditions. */
export type PlacedCriteria<E> = IdOf<E> | IdOf<E>[] | Where<E>;

/**
 * TypeORM's repository for an entity with a strategy, `@ShardedEntity({ strategy })`: a singleton that asks the strategy once
 * for each operation, before any transaction, and works on the one shard that it names. There is no tenant, and no filter.
 *
 * Where the strategy does not say which shard, the call is `no_placement`; a read with `{ scatter: true }` then asks all of
 * them. Reads follow the read policy, writes go to the primary. Inside `db.tx` of the same shard both are part of it; on
 * another shard it is `cross_shard_transaction`.
 */
export class PlacedRepository<E extends ObjectLiteral> {
  readonly #parts: PlacedParts<E>;
  readonly #metadata: EntityMetadata;
  readonly #placement: Placement;
  readonly #reader: PlacedReader<E>;
  readonly #writer: PlacedWriter;

  /** Obtained by `@InjectShardedRepository`; a class that extends it passes the parts on. */
  constructor(parts: PlacedParts<E>) {
    const { metadataSource, entity, shards, strategy, state, db, readFrom } = parts;
    const metadata = metadataSource.getMetadata(entity);
    const { loaded, unregistered } = state;
    this.#parts = parts;
    this.#metadata = metadata;
    this.#placement = new Placement({ metadata, shards, strategy, unregistered });
    this.#reader = new PlacedReader<E>({ metadata, loaded, readFrom, db });
    this.#writer = new PlacedWriter({ placement: this.#placement, loaded, db });
  }

  get target(): EntityClass<E> {
    return this.#parts.entity;
  }

  /** With `unregisteredShard: 'default'`: how often a shard stood in for one that is not there, by identifier. */
  get standIns(): ReadonlyMap<string, number> {
    return this.#parts.state.unregistered.counts;
  }

  /** The same repository, whose reads go to the primary. */
  onPrimary(): this {
    return this.#with({ readFrom: 'primary' });
  }

  /** The same repository on a given database, which the strategy must agree with where it is asked: by writes of entities. */
  on(db: ShardDb): this {
    return this.#with({ db });
  }

  /**
   * @throws ShardingError `invalid_id`, `unregistered_shard`; `no_placement` where ids do not say it, without
   *   `{ scatter: true }`
   */
  async findById(id: IdOf<E>, options: MayScatter = {}): Promise<E | null> {
    const where = this.#whereId(id);
    const shards = await this.#shardsOfId(id, options);
    if (shards !== 'all') return this.#reader.findOne(shards, { where });
    const { value, missing } = await this.#everywhere().findOneBy(where, { shards: 'partial' });
    if (value ?? missing.length === 0) return value;
    throw absent(missing.map(({ shard }) => shard));
  }

  /** @throws TypeORM's `EntityNotFoundError`, and what {@link findById} throws */
  async findByIdOrFail(id: IdOf<E>, options: MayScatter = {}): Promise<E> {
    const found = await this.findById(id, options);
    if (!found) throw new EntityNotFoundError(this.target as never, this.#whereId(id));
    return found;
  }

  /** @throws what {@link findById} throws */
  async existsById(id: IdOf<E>, options: MayScatter = {}): Promise<boolean> {
    const where = this.#whereId(id);
    const shards = await this.#shardsOfId(id, options);
    if (shards !== 'all') return this.#reader.exists(shards, { where });
    return (await this.findById(id, options)) !== null;
  }

  /** In the order of the ids, each once; those that are not there are left out. @throws what {@link findById} throws */
  async findByIds(ids: readonly IdOf<E>[], options: MayScatter = {}): Promise<E[]> {
    const wanted = [...new Set(ids)];
    const places = await Promise.all(wanted.map((id) => this.#shardsOfId(id, options)));
    const all = places.includes('all');
    const rows = all
      ? await this.#everywhere().find({ where: this.#whereId(In(wanted)) })
      : await this.#rowsOf(wanted, places as Places[]);
    const byId = new Map(rows.map((row) => [this.#idOf(row), row]));
    return wanted.flatMap((id) => byId.get(this.#spelt(id)) ?? []);
  }

  async find({ scatter, ...options }: FindManyOptions<E> & MayScatter = {}): Promise<E[]> {
    const shards = await this.#shardsOf(options.where, scatter);
    return shards === 'all' ? this.#everywhere().find(options as never) : this.#reader.find(shards, options);
  }

  findBy(where: Where<E>, options: MayScatter = {}): Promise<E[]> {
    return this.find({ where, ...options });
  }

  findOne({ scatter, ...options }: FindOneOptions<E> & MayScatter): Promise<E | null> {
    return promised(() => {
      if (!options.where) {
        throw new ShardingError('invalid_options', `findOne of ${this.#metadata.name} needs a where`);
      }
      return chain(this.#shardsOf(options.where, scatter), (shards) =>
        shards === 'all' ? this.#firstOfAll(options) : this.#reader.findOne(shards, options),
      );
    });
  }

  findOneBy(where: Where<E>, options: MayScatter = {}): Promise<E | null> {
    return this.findOne({ where, ...options });
  }

  async count({ scatter, ...options }: FindManyOptions<E> & MayScatter = {}): Promise<number> {
    const shards = await this.#shardsOf(options.where, scatter);
    if (shards !== 'all') return this.#reader.count(shards, options);
    return this.#everywhere().count(options as never);
  }

  async exists({ scatter, ...options }: FindManyOptions<E> & MayScatter = {}): Promise<boolean> {
    const shards = await this.#shardsOf(options.where, scatter);
    if (shards !== 'all') return this.#reader.exists(shards, options);
    return this.#everywhere().exists(options as never);
  }

  /**
   * Inserts where the strategy says, all on one shard. A `@ShardedId` that is missing is generated for that place.
   *
   * @throws ShardingError `no_placement`; `cross_shard_transaction` for entities of several shards, `invalid_id` for an id
   *   that names another place: before anything is written
   */
  async insert(values: QueryDeepPartialEntity<E> | QueryDeepPartialEntity<E>[]): Promise<InsertResult> {
    return this.#writer.insert(listOf(values));
  }

  /**
   * Inserts or updates, cascades included, all on one shard.
   *
   * @throws ShardingError `placement_changed` for an entity that was loaded from another shard than the one that its values
   *   name now, and what {@link insert} throws
   */
  save<T extends DeepPartial<E>>(entities: T[], options?: SaveOptions): Promise<(T & E)[]>;
  save<T extends DeepPartial<E>>(entity: T, options?: SaveOptions): Promise<T & E>;
  async save<T extends DeepPartial<E>>(entities: T | T[], options?: SaveOptions): Promise<unknown> {
    const list = listOf(entities);
    if (list.length === 0) return entities;
    const saved = await this.#writer.save(list, options);
    return Array.isArray(entities) ? saved : saved[0];
  }

  /**
   * Changes rows of one shard. A changed value that the strategy goes by would leave the row where it is: change such an
   * entity by `save`, which notices it.
   *
   * @throws ShardingError `no_placement`; `cross_shard_transaction` for rows of several shards
   */
  async update(criteria: PlacedCriteria<E>, values: QueryDeepPartialEntity<E>): Promise<UpdateResult> {
    return this.#writer.update(criteria, values);
  }

  /** @throws ShardingError as {@link update} */
  async delete(criteria: PlacedCriteria<E>): Promise<DeleteResult> {
    return this.#writer.delete(criteria);
  }

  #with(changed: Partial<PlacedParts<E>>): this {
    const type = this.constructor as new (parts: PlacedParts<E>) => this;
    return new type({ ...this.#parts, ...changed });
  }

  #everywhere(): CrossShardRepository<E> {
    const { crossShard, entity, readFrom: reads, state } = this.#parts;
    const loaded = (row: object, shard: Shard) => state.loaded.note([row], shard);
    return crossShard.placedRepository(entity, { reads, loaded });
  }

  async #shardsOfId(id: unknown, { scatter }: MayScatter): Promise<Places | 'all'> {
    const { db } = this.#parts;
    const places = db ? [db.shard] : await promised(() => this.#placement.ofId(id));
    return places ?? this.#unknown(scatter, 'an id is: find it by a condition that says it');
  }

  #shardsOf(where: unknown, scatter: true | undefined): MaybePromise<Places | 'all'> {
    const { db } = this.#parts;
    if (db) return [db.shard];
    return chain(
      this.#placement.ofQuery(where),
      (places): Places | 'all' =>
        (places && union(places)) ??
        this.#unknown(scatter, 'these rows are: name an id, or what it asks for, in the condition'),
    );
  }

  async #firstOfAll(options: FindOneOptions<E>): Promise<E | null> {
    const [row] = await this.#everywhere().find({ ...(options as object), take: 1 });
    return row ?? null;
  }

  #unknown(scatter: true | undefined, remedy: string): 'all' {
    if (scatter) return 'all';
    throw noPlacement(this.#metadata.name, `${remedy}, or ask every shard with { scatter: true }`);
  }

  async #rowsOf(ids: readonly IdOf<E>[], places: readonly Places[]): Promise<E[]> {
    const byPlace = new Map<string, { shards: Places; ids: IdOf<E>[] }>();
    ids.forEach((id, index) => {
      const shards = places[index] ?? [];
      const key = shards.map(({ name }) => name).join('/');
      const known = byPlace.get(key);
      if (known) known.ids.push(id);
      else byPlace.set(key, { shards, ids: [id] });
    });
    const lists = [...byPlace.values()].map(({ shards, ids: own }) =>
      this.#reader.find(shards, { where: this.#whereId(In(own)) }),
    );
    return (await Promise.all(lists)).flat();
  }

  #whereId(id: unknown): Where<E> {
    const [column, ...others] = this.#metadata.primaryColumns;
    if (column && others.length === 0) return { [column.propertyName]: id } as Where<E>;
    throw new ShardingError('invalid_options', `${this.#metadata.name} has several id columns`);
  }

  #idOf(row: E): string {
    return this.#spelt(this.#metadata.primaryColumns[0]?.getEntityValue(row));
  }

  /** PostgreSQL gives a UUID back in lower case. */
  #spelt(id: unknown): string {
    const text = String(id);
    return this.#metadata.primaryColumns[0]?.type === 'uuid' ? text.toLowerCase() : text;
  }
}

/** TypeORM fills generated values into the objects that it is given. */
function listOf(values: unknown): ObjectLiteral[] {
  return (Array.isArray(values) ? values : [values]) as ObjectLiteral[];
}

function absent(shards: readonly string[]): ShardingError {
  const names = shards.map((name) => `"${name}"`).join(', ');
  return new ShardingError(
    'shard_unavailable',
    `the row was not found, and may be on a shard that did not answer: ${names}`,
  );
}
