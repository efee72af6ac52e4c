import { EntityNotFoundError } from 'typeorm';
import { ShardingError } from '@app/routing';
import { chain, promised } from '../shards/maybe-promise.js';
import { tenantScopeOf } from './sharded-entity.js';
import { aggregateOf } from './tenant-aggregate.js';
import { RoutedQueryBuilder } from './routed-query-builder.js';
import { assertSpelling, tenantSpelling } from './stored-tenant.js';
import { checkWhere, refuseUnscoped } from './tenant-conditions.js';
import { placeOfContext, placeOfKey, placeOnDb, runAt, writeAt } from './tenant-place.js';
import { findTenantRow } from './placed/tenant-row.js';
import { TenantQueryBuilder } from './tenant-query-builder.js';
import { streamByKey } from './tenant-stream.js';
import { TenantWriter } from './tenant-writer.js';
import type {
  DeepPartial,
  DeleteResult,
  EntityMetadata,
  FindManyOptions,
  FindOneOptions,
  InsertResult,
  ObjectLiteral,
  SaveOptions,
  SelectQueryBuilder,
  UpdateResult,
} from 'typeorm';
import type { QueryDeepPartialEntity } from 'typeorm/query-builder/QueryPartialEntity.js';
import type { UpdateOptions } from 'typeorm/repository/UpdateOptions.js';
import type { UpsertOptions } from 'typeorm/repository/UpsertOptions.js';
import type { RoutingKey } from '@app/routing';
import type { IdOf } from './placed/given-ids.js';
import type { FindAt } from './placed/tenant-row.js';
import type { ShardDb } from '../shards/shard-db.js';
import type { Route } from './routed-query-builder.js';
import type { EntityClass } from './sharded-entity.js';
import type { AggregateName } from './tenant-aggregate.js';
import type { StreamOptions } from './tenant-stream.js';
import type { Criteria, NumberColumn, RepositoryParts, Where } from './repository-parts.js';
import type { Locate, ReadFrom, TenantPlace } from './tenant-place.js';
import type { CrossShardRepository } from './scatter/cross-shard-repository.js';

/**
 * TypeORM's repository for an entity with `@ShardedEntity`: a singleton that routes at each call by the routing context,
 * and works with the rows of that tenant only. Every read is filtered, every insert stamped; another tenant's row can be
 * neither seen nor touched, and naming one is `cross_tenant`.
 *
 * Reads follow the read policy of the shard, writes go to its primary. Inside `db.tx` of the same shard both use the
 * transaction.
 */
export class ShardedRepository<E extends ObjectLiteral> {
  readonly #parts: RepositoryParts<E>;
  readonly #locate: Locate;
  readonly #readFrom: ReadFrom;
  readonly #metadata: EntityMetadata;
  readonly #spelling: RegExp | undefined;

  /** Obtained by `@InjectShardedRepository`; a class that extends it passes the parts on. */
  constructor(parts: RepositoryParts<E>) {
    this.#parts = parts;
    this.#locate = parts.locate ?? placeOfContext(parts.shards);
    this.#readFrom = parts.readFrom ?? tenantScopeOf(parts.entity).reads ?? 'policy';
    this.#metadata = parts.metadataSource.getMetadata(parts.entity);
    this.#spelling = tenantSpelling(this.#metadata);
  }

  get target(): EntityClass<E> {
    return this.#parts.entity;
  }

  /** The same repository, whose reads go to the primary. */
  onPrimary(): this {
    return this.#with({ readFrom: 'primary' });
  }

  /** The same repository for an explicit key, anywhere. */
  for(key: RoutingKey): this {
    return this.#with({ locate: placeOfKey(this.#parts.shards, key) });
  }

  /**
   * The same repository on a given database. Inside its `tx` everything is part of the transaction.
   *
   * @param tenant where there is no routing context
   */
  on(db: ShardDb, tenant?: RoutingKey): this {
    return this.#with({ locate: placeOnDb(db, tenant ?? this.#locate) });
  }

  /**
   * The rows of all tenants on all shards, to be read only.
   *
   * @throws ShardingError `cross_shard_denied` unless `crossShardAccess(undefined)` is true; `invalid_options` on a
   *   repository of one database or key
   */
  acrossTenants(): CrossShardRepository<E> {
    const { crossShard, entity, locate } = this.#parts;
    return crossShard.acrossTenants(entity, locate) as unknown as CrossShardRepository<E>;
  }

  /**
   * The row of an id that `@ShardedId` has made: found by the id alone, also where no tenant is known. Whoever calls it
   * there decides who may see the row; where a tenant is known it finds that tenant's rows only.
   *
   * @throws ShardingError `invalid_id`; `unregistered_shard`; `no_placement` for an entity without `@ShardedId`
   */
  findById(id: IdOf<E>): Promise<E | null> {
    const find: FindAt<E> = (where, locate) =>
      this.#query({ where, take: 1 }, (query) => query.getOne(), locate);
    return findTenantRow({ ...this.#parts, metadata: this.#metadata, readFrom: this.#readFrom, find }, id);
  }

  find(options: FindManyOptions<E> = {}): Promise<E[]> {
    return this.#query(options, (query) => query.getMany());
  }

  findBy(where: Where<E>): Promise<E[]> {
    return this.find({ where });
  }

  findAndCount(options: FindManyOptions<E> = {}): Promise<[E[], number]> {
    return this.#query(options, (query) => query.getManyAndCount());
  }

  findAndCountBy(where: Where<E>): Promise<[E[], number]> {
    return this.findAndCount({ where });
  }

  async findOne(options: FindOneOptions<E>): Promise<E | null> {
    if (!options.where) {
      throw new ShardingError('invalid_options', `findOne of ${this.target.name} needs a where`);
    }
    return this.#query({ ...options, take: 1 }, (query) => query.getOne());
  }

  findOneBy(where: Where<E>): Promise<E | null> {
    return this.findOne({ where });
  }

  /** @throws TypeORM's `EntityNotFoundError` */
  async findOneOrFail(options: FindOneOptions<E>): Promise<E> {
    const found = await this.findOne(options);
    if (!found) throw new EntityNotFoundError(this.target as never, options.where);
    return found;
  }

  /** @throws TypeORM's `EntityNotFoundError` */
  findOneByOrFail(where: Where<E>): Promise<E> {
    return this.findOneOrFail({ where });
  }

  count(options: FindManyOptions<E> = {}): Promise<number> {
    return this.#query(options, (query) => query.getCount());
  }

  countBy(where: Where<E>): Promise<number> {
    return this.count({ where });
  }

  exists(options: FindManyOptions<E> = {}): Promise<boolean> {
    return this.#query(options, (query) => query.getExists());
  }

  existsBy(where: Where<E>): Promise<boolean> {
    return this.exists({ where });
  }

  sum(column: NumberColumn<E>, where: Where<E> = {}): Promise<number | null> {
    return this.#aggregate('sum', column, where);
  }

  average(column: NumberColumn<E>, where: Where<E> = {}): Promise<number | null> {
    return this.#aggregate('avg', column, where);
  }

  minimum(column: NumberColumn<E>, where: Where<E> = {}): Promise<number | null> {
    return this.#aggregate('min', column, where);
  }

  maximum(column: NumberColumn<E>, where: Where<E> = {}): Promise<number | null> {
    return this.#aggregate('max', column, where);
  }

  /** All rows of the tenant in the order of the primary key, in constant memory. @throws what `find` throws */
  stream(options: StreamOptions<E> = {}): AsyncGenerator<E, void, undefined> {
    return streamByKey<E>(this.#metadata, options, (batch, narrow) =>
      this.#query(batch, (query) => {
        narrow(query);
        return query.getMany();
      }),
    );
  }

  /** A query builder over the tenant's rows; it is routed when it runs. */
  createQueryBuilder(alias: string = this.target.name): SelectQueryBuilder<E> {
    return this.#builder(alias, (work) => this.#at((place) => runAt(place, this.#readFrom, work)));
  }

  /**
   * Inserts, with the tenant in place.
   *
   * @throws ShardingError `cross_tenant` for an entity of another tenant
   */
  insert(values: QueryDeepPartialEntity<E> | QueryDeepPartialEntity<E>[]): Promise<InsertResult> {
    return this.#write((writer) => writer.insert(values as ObjectLiteral));
  }

  /**
   * Inserts or updates, cascades included.
   *
   * @throws ShardingError `cross_tenant` for an entity, or an id, of another tenant
   */
  save<T extends DeepPartial<E>>(entities: T[], options?: SaveOptions): Promise<(T & E)[]>;
  save<T extends DeepPartial<E>>(entity: T, options?: SaveOptions): Promise<T & E>;
  save<T extends DeepPartial<E>>(entities: T | T[], options?: SaveOptions): Promise<unknown> {
    return this.#write((writer) => writer.save(entities as ObjectLiteral, options));
  }

  update(
    criteria: Criteria<E>,
    values: QueryDeepPartialEntity<E>,
    options?: UpdateOptions,
  ): Promise<UpdateResult> {
    return this.#write((writer) => writer.update(criteria, values as ObjectLiteral, options));
  }

  /**
   * Inserts, or updates the tenant's own row with the same values in the conflict columns, which the tenant column must
   * be one of.
   */
  upsert(
    values: QueryDeepPartialEntity<E> | QueryDeepPartialEntity<E>[],
    conflict: string[] | UpsertOptions<E>,
  ): Promise<InsertResult> {
    return this.#write((writer) =>
      writer.upsert(values as ObjectLiteral, conflict as string[] | UpsertOptions<ObjectLiteral>),
    );
  }

  delete(criteria: Criteria<E>): Promise<DeleteResult> {
    return this.#write((writer) => writer.delete(criteria));
  }

  softDelete(criteria: Criteria<E>): Promise<UpdateResult> {
    return this.#write((writer) => writer.softDelete(criteria));
  }

  restore(criteria: Criteria<E>): Promise<UpdateResult> {
    return this.#write((writer) => writer.restore(criteria));
  }

  increment(where: Where<E>, column: string, by: number | string): Promise<UpdateResult> {
    return this.#write((writer) => writer.increment(where, column, by));
  }

  decrement(where: Where<E>, column: string, by: number | string): Promise<UpdateResult> {
    return this.#write((writer) => writer.decrement(where, column, by));
  }

  #with(changed: Partial<RepositoryParts<E>>): this {
    const type = this.constructor as new (parts: RepositoryParts<E>) => this;
    return new type({ ...this.#parts, readFrom: this.#readFrom, ...changed });
  }

  #at<T>(work: (place: TenantPlace) => Promise<T>, locate: Locate = this.#locate): Promise<T> {
    const at = (place: TenantPlace) => {
      if (this.#spelling) assertSpelling(place.tenant, this.#spelling, this.#metadata.name);
      return work(place);
    };
    return promised(() => chain(locate(), at));
  }

  #builder(alias: string, route: Route): RoutedQueryBuilder<E> {
    const builder = new RoutedQueryBuilder<E>(this.#parts.metadataSource).routedBy(route);
    return builder.select(alias).from(this.target as never, alias) as RoutedQueryBuilder<E>;
  }

  #query<T>(
    options: FindManyOptions<E>,
    run: (query: TenantQueryBuilder<E>) => Promise<T>,
    locate?: Locate,
  ): Promise<T> {
    refuseUnscoped(options, this.target.name);
    const ask = (place: TenantPlace) =>
      runAt(place, this.#readFrom, (at) => {
        const { name } = this.#metadata;
        checkWhere(options.where, this.#metadata, place.tenant);
        const query = new TenantQueryBuilder<E>(this.#parts.metadataSource).on(at);
        query.select(name).from(this.target as never, name);
        return run(query.setFindOptions(options));
      });
    return this.#at(ask, locate);
  }

  #aggregate(name: AggregateName, column: string, where: Where<E>): Promise<number | null> {
    return this.#query({ where }, (query) => aggregateOf(query, name, column));
  }

  #write<T>(work: (writer: TenantWriter) => Promise<T>): Promise<T> {
    return this.#at((place) => writeAt(place, (db) => work(new TenantWriter(db, this.#metadata, place))));
  }
}
