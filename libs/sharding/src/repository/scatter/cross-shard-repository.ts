import type { FindManyOptions, FindOptionsOrderValue, ObjectLiteral } from 'typeorm';
import type { AllShards, MissingShard, ScatterLimits, SomeShards } from './fan-out-options.js';
import type { Where } from './query.js';
import type { OutputValue } from './values/key-value.js';

/** Rows of the shards that answered. */
export interface SomeRows<T> {
  readonly rows: T[];
  readonly missing: MissingShard[];
}

/** A value over the shards that answered. */
export interface SomeValue<T> {
  readonly value: T;
  readonly missing: MissingShard[];
}

/** A page of the global order. */
export interface Page<E> {
  readonly rows: E[];
  /** For `after` of the next page; null at the end. The last page may be empty. */
  readonly next: string | null;
}

export interface SomePage<E> extends Page<E> {
  readonly missing: MissingShard[];
}

/** What of TypeORM's find options holds for a row, not for a page. */
type ShapeOptions<E extends ObjectLiteral> = Pick<
  FindManyOptions<E>,
  'select' | 'relations' | 'relationLoadStrategy' | 'loadEagerRelations' | 'loadRelationIds' | 'withDeleted'
>;

/** TypeORM's find options. */
export interface ScatterFindOptions<E extends ObjectLiteral> extends ShapeOptions<E> {
  readonly where?: Where<E>;
  /** Several columns, also of relations with one row. Completed by the primary key and the shard. */
  readonly order?: FindManyOptions<E>['order'];
  readonly take?: number;
  /** At most 10000: behind that use `page`. */
  readonly skip?: number;
}

/** {@link ScatterFindOptions} where `where` is an argument of its own. */
export type ScatterFindByOptions<E extends ObjectLiteral> = Omit<ScatterFindOptions<E>, 'where'>;

export interface ScatterCountOptions<E extends ObjectLiteral> {
  readonly where?: Where<E>;
  readonly withDeleted?: boolean;
}

export interface ScatterPageOptions<E extends ObjectLiteral> extends Omit<ScatterFindOptions<E>, 'skip'> {
  /** Rows of a page. Default 100. */
  readonly take?: number;
  /** The `next` of the page before, of the same `where` and `order`. */
  readonly after?: string | null | undefined;
}

export interface ScatterStreamOptions<E extends ObjectLiteral> extends Omit<
  ScatterFindOptions<E>,
  'skip' | 'take'
> {
  /** Rows fetched at once from a shard. Default 500. */
  readonly batchSize?: number;
  /** So long the consumer may keep the stream waiting, in milliseconds; then it ends. Default 60000. */
  readonly idleMs?: number;
}

/** A column by property path: `amount`, or `price.amount` of an embedded entity. */
export type ColumnPath<E> = (keyof E & string) | `${keyof E & string}.${string}`;

/** One aggregate of a group. */
export type GroupAggregate<E> =
  | { readonly count: '*' | ColumnPath<E> }
  | { readonly countDistinct: ColumnPath<E> }
  | { readonly sum: ColumnPath<E> }
  | { readonly average: ColumnPath<E> }
  | { readonly minimum: ColumnPath<E> }
  | { readonly maximum: ColumnPath<E> };

/** The group's columns and aggregates by name. */
export type GroupRow<C extends string, A extends string> = {
  [K in C | A]: OutputValue | null;
};

export interface GroupByOptions<E extends ObjectLiteral, N extends string> extends ScatterCountOptions<E> {
  /** After the merge: a function, or TypeORM's operators by name, compared exactly. */
  readonly having?: ((row: GroupRow<N, never>) => boolean) | { readonly [K in N]?: unknown };
  /** By columns and aggregates; completed by the columns. */
  readonly order?: { readonly [K in N]?: FindOptionsOrderValue };
  readonly take?: number;
}

/** What a scatter would do. */
export interface ScatterPlan {
  readonly entity: string;
  readonly shards: readonly { readonly shard: string; readonly sql: string }[];
  /** What happens to the shards' answers, in order. */
  readonly merge: readonly string[];
}

/** The answer of `find` and its like: rows, or rows and who is missing. */
interface Rows<E, O> {
  (options?: O & AllShards): Promise<E[]>;
  (options: O & SomeShards): Promise<SomeRows<E>>;
}

interface Value<T, Args extends unknown[], O = object> {
  (...args: [...Args, options?: O & AllShards]): Promise<T>;
  (...args: [...Args, options: O & SomeShards]): Promise<SomeValue<T>>;
}

/** An aggregate of one column over the rows that `where` selects. */
interface ColumnValue<E extends ObjectLiteral, T> {
  (column: ColumnPath<E>, where?: Where<E>, options?: AllShards): Promise<T>;
  (column: ColumnPath<E>, where: Where<E> | undefined, options: SomeShards): Promise<SomeValue<T>>;
}

/**
 * Reads over all shards. For data at rest every answer is what one database holding all rows would give; under writers each
 * shard has its own snapshot. There is nothing here that writes. Text is ordered as UTF-8 bytes (collation "C").
 *
 * What cannot be merged exactly is `cross_shard_unsupported`; inside a `tx` every method is `cross_shard_transaction`.
 */
export interface CrossShardRepository<E extends ObjectLiteral> {
  readonly find: Rows<E, ScatterFindOptions<E>>;
  findBy(where: Where<E>, options?: ScatterFindByOptions<E> & AllShards): Promise<E[]>;
  findBy(where: Where<E>, options: ScatterFindByOptions<E> & SomeShards): Promise<SomeRows<E>>;
  /** The first by `order` and primary key; null where there is none. */
  readonly findOneBy: Value<E | null, [where: Where<E>], Omit<ScatterFindByOptions<E>, 'take' | 'skip'>>;
  readonly count: Value<number, [], ScatterCountOptions<E>>;
  readonly countBy: Value<number, [where: Where<E>]>;
  readonly exists: Value<boolean, [], ScatterCountOptions<E>>;
  readonly existsBy: Value<boolean, [where: Where<E>]>;
  /** How many different values a column has, NULL not counted; refused above 100000. */
  readonly countDistinct: ColumnValue<E, number>;
  /** Exact decimal text of an integer, bigint or numeric column; a number of a float column, inexact. Null of nothing. */
  readonly sum: ColumnValue<E, string | number | null>;
  /** The digits of PostgreSQL's `avg`; a number of a float column. */
  readonly average: ColumnValue<E, string | number | null>;
  readonly minimum: ColumnValue<E, OutputValue | null>;
  readonly maximum: ColumnValue<E, OutputValue | null>;
  /** At most 100000 groups. @example groupBy(['tag'], { posts: { count: '*' } }, { order: { posts: 'DESC' }, take: 10 }) */
  groupBy<C extends ColumnPath<E>, A extends string>(
    columns: readonly C[],
    aggregates: Readonly<Record<A, GroupAggregate<E>>>,
    options?: GroupByOptions<E, NoInfer<C | A>> & AllShards,
  ): Promise<GroupRow<C, A>[]>;
  groupBy<C extends ColumnPath<E>, A extends string>(
    columns: readonly C[],
    aggregates: Readonly<Record<A, GroupAggregate<E>>>,
    options: GroupByOptions<E, NoInfer<C | A>> & SomeShards,
  ): Promise<SomeRows<GroupRow<C, A>>>;
  /** One page of the global order; a row that stays is neither skipped nor repeated, whatever is written meanwhile. */
  page(options: ScatterPageOptions<E> & AllShards): Promise<Page<E>>;
  page(options: ScatterPageOptions<E> & SomeShards): Promise<SomePage<E>>;
  /**
   * All rows in the global order, in constant memory: one connection of each shard is held until the end, `break`, or an
   * error. All shards or none.
   */
  stream(
    options?: ScatterStreamOptions<E> & Omit<ScatterLimits, 'width'>,
  ): AsyncGenerator<E, void, undefined>;
  /** The SQL of each shard and how the answers are merged; runs none of it. It may look types up in the catalogs. */
  explain(options?: ScatterFindOptions<E> & ScatterLimits): Promise<ScatterPlan>;
}
