import { SelectQueryBuilder } from 'typeorm';
import { ShardingError } from '@app/routing';
import { checkWhere, tenantColumnOf } from './tenant-conditions.js';
import { assertNamesOwn } from './named-tenant.js';
import { assertAlias, assertFragment } from './sql-fragment.js';
import type { DataSource, EntityMetadata, ObjectLiteral, QueryBuilder, QueryRunner } from 'typeorm';
import type { Alias } from 'typeorm/query-builder/Alias.js';
import type { Tenant } from './tenant-conditions.js';

/** The parameter that carries the tenant. */
const PARAMETER = 'sharding_tenant';

/** As TypeORM begins the conditions of a statement. */
const WHERE = ' WHERE ';

type Select = SelectQueryBuilder<ObjectLiteral>;
type Join = Parameters<TenantQueryBuilder<ObjectLiteral>['join']>;

/** Where the rows come from: known when the statement is sent. */
export interface TenantRun {
  readonly tenant: Tenant;
  readonly source: DataSource;
  /** Inside a transaction. */
  readonly runner?: QueryRunner | undefined;
}

/**
 * A `SelectQueryBuilder` over the rows of one tenant. The condition is part of the SQL however it is built: around the
 * conditions of the main entity, in the join of every entity that has a tenant column, in subqueries and copies.
 *
 * It reads from entities and its own subqueries only: what TypeORM would turn into another kind of statement is refused,
 * and so is a table by its name, a common table expression and a query in a string.
 */
export class TenantQueryBuilder<E extends ObjectLiteral> extends SelectQueryBuilder<E> {
  /** The SQL of the subqueries that were built by this builder and its copies: each has the tenant's condition. */
  readonly subqueries: Set<string>;
  private run: TenantRun | undefined;

  constructor(from: DataSource | QueryBuilder<E>, runner?: QueryRunner) {
    super(from as DataSource, runner);
    this.subqueries = from instanceof TenantQueryBuilder ? from.subqueries : new Set();
  }

  /** Decides whose rows, and on which database; before it nothing can be sent. */
  on(run: TenantRun): this {
    this.run = run;
    this.queryRunner = run.runner as QueryRunner;
    this.expressionMap.parameters[PARAMETER] = run.tenant;
    return this;
  }

  override clone(): this {
    const copy = super.clone();
    return this.run ? copy.on(this.run) : copy;
  }

  override createQueryBuilder(runner?: QueryRunner): this {
    const other = super.createQueryBuilder(runner) as this;
    (other as { subqueries: Set<string> }).subqueries = this.subqueries;
    return this.run ? other.on(this.run) : other;
  }

  override getQuery(): string {
    this.assertPlaces();
    const sql = super.getQuery();
    if (this.expressionMap.subQuery) this.subqueries.add(sql);
    return sql;
  }

  protected override obtainQueryRunner(): QueryRunner {
    if (!this.run) throw new ShardingError('no_routing_key', 'the query builder is not routed yet');
    return this.run.runner ?? this.run.source.createQueryRunner('slave');
  }

  protected override createFromAlias(...[target, name]: Parameters<Select['createFromAlias']>): Alias {
    if (name !== undefined) assertAlias(name);
    const factory = typeof target === 'function' && !this.dataSource.hasMetadata(target);
    const made = factory ? (query: Select) => this.own((target as (query: Select) => Select)(query)) : target;
    const alias = super.createFromAlias(made, name);
    this.assertPlace(alias);
    return alias;
  }

  protected override join(...parts: Parameters<SelectQueryBuilder<E>['join']>): void {
    const [, , name, condition] = parts as unknown as Join;
    assertAlias(name);
    super.join(...parts);
    const joined = this.expressionMap.joinAttributes.at(-1);
    this.assertPlaces();
    const { metadata } = joined ?? {};
    if (!joined || !metadata) throw this.refused('join of what is no entity');
    if (condition) this.assertPiece(condition, metadata);
    const own = tenantCondition(name, metadata);
    if (own) joined.condition = joined.condition ? `( ${joined.condition} ) AND ${own}` : own;
  }

  /** Each piece of the caller's SQL stays where it is put. */
  protected override createWhereConditionExpression(
    ...[condition, wrapped]: Parameters<SelectQueryBuilder<E>['createWhereConditionExpression']>
  ): string {
    if (typeof condition === 'string') this.assertPiece(condition);
    return super.createWhereConditionExpression(condition, wrapped);
  }

  protected override createSelectExpression(): string {
    const { selects, selectDistinctOn } = this.expressionMap;
    for (const { selection } of selects) this.assertPiece(selection);
    for (const column of selectDistinctOn) this.assertPiece(column);
    return super.createSelectExpression();
  }

  protected override createGroupByExpression(): string {
    for (const column of this.expressionMap.groupBys) this.assertPiece(column);
    return super.createGroupByExpression();
  }

  protected override createHavingExpression(): string {
    for (const { condition } of this.expressionMap.havings) this.assertPiece(condition);
    return super.createHavingExpression();
  }

  protected override createOrderByExpression(): string {
    for (const column of Object.keys(this.expressionMap.allOrderBys)) this.assertPiece(column);
    return super.createOrderByExpression();
  }

  protected override createLockExpression(): string {
    for (const alias of this.expressionMap.lockTables ?? []) assertAlias(alias);
    return super.createLockExpression();
  }

  protected override getExistsCondition(query: unknown): [string, never[]] {
    const [sql, parameters] = super.getExistsCondition(this.own(query as Select)) as [string, never[]];
    this.subqueries.add(sql.slice('EXISTS '.length));
    return [sql, parameters];
  }

  /** Around everything that was asked for. */
  protected override createWhereExpression(): string {
    const asked = super.createWhereExpression();
    const own = this.tenantConditions();
    if (own === '') return asked;
    const conditions = asked.startsWith(WHERE) ? asked.slice(WHERE.length) : asked;
    if (conditions === '') return WHERE + own;
    const main = this.mainEntity();
    if (main && this.run) {
      const { tenant } = this.run;
      assertNamesOwn({ sql: conditions, metadata: main, tenant, parameters: this.expressionMap.parameters });
    }
    return `${WHERE}( ${conditions} ) AND ${own}`;
  }

  /** One of each entity that is read from and has a tenant column. */
  private tenantConditions(): string {
    let all = '';
    for (const alias of this.expressionMap.aliases) {
      const from = alias.type === 'from' && alias.hasMetadata;
      const one = from ? tenantCondition(alias.name, alias.metadata) : undefined;
      if (one) all += all === '' ? one : ` AND ${one}`;
    }
    return all;
  }

  /** Objects are checked before they become SQL. */
  protected override getWhereCondition(
    where: Parameters<SelectQueryBuilder<E>['getWhereCondition']>[0],
  ): ReturnType<SelectQueryBuilder<E>['getWhereCondition']> {
    const main = this.mainEntity();
    const plain = typeof where === 'object' && where !== null && !('whereFactory' in where);
    if (plain && main) checkWhere(where, main, this.run?.tenant);
    return super.getWhereCondition(where);
  }

  override setParameter(key: string, value: unknown): this {
    if (key === PARAMETER) throw this.refused(`a parameter named ${PARAMETER}`);
    return super.setParameter(key, value);
  }

  /** A read from anything that is not an entity, or a subquery of this builder, would not be filtered. */
  private assertPlaces(): void {
    const { aliases, joinAttributes, commonTableExpressions } = this.expressionMap;
    if (commonTableExpressions.length > 0) throw this.refused('a common table expression');
    for (const alias of aliases) if (alias.type === 'from') this.assertPlace(alias);
    for (const { metadata, mapAsEntity, alias, relation } of joinAttributes) {
      if (!metadata || mapAsEntity || alias.subQuery) throw this.refused('join of what is no entity');
      if (!relation && metadata.isJunction) throw this.refused('join of a junction table');
    }
  }

  private assertPlace(alias: Alias): void {
    const { subQuery, hasMetadata } = alias;
    if (hasMetadata ? !alias.metadata.isJunction : subQuery && this.subqueries.has(subQuery)) return;
    throw this.refused('from() of what is neither an entity nor a subquery of the builder');
  }

  /** A subquery that filters by the tenant. */
  private own(query: Select): Select {
    if (query instanceof TenantQueryBuilder) return query;
    throw this.refused('a subquery of another kind of builder');
  }

  private assertPiece(sql: unknown, metadata = this.mainEntity()): void {
    const queries = () => this.filteredQueries();
    const named = metadata ?? { name: 'a subquery' };
    if (typeof sql === 'string') assertFragment({ sql, metadata: named, queries });
  }

  /** Those of the builder, and virtual columns, whose SQL is the entity's own. */
  private *filteredQueries(): Iterable<string> {
    yield* this.subqueries;
    for (const alias of this.expressionMap.aliases) {
      for (const { query } of alias.hasMetadata ? alias.metadata.columns : []) {
        if (query) yield `(${query(this.escape(alias.name))})`;
      }
    }
  }

  private mainEntity(): EntityMetadata | undefined {
    const { mainAlias } = this.expressionMap;
    return mainAlias?.hasMetadata ? mainAlias.metadata : undefined;
  }

  protected refused(what: string): ShardingError {
    return new ShardingError(
      'invalid_options',
      `${what} is not available on a tenant's query builder: use the methods of the repository, or ShardDb with a tenant condition of your own`,
    );
  }
}

/** TypeORM has them, a tenant's builder has not: another statement, SQL as it is, a cache or ids past the filter. */
const REFUSED = [
  'insert',
  'update',
  'delete',
  'softDelete',
  'restore',
  'relation',
  'comment',
  'cache',
  'disableEscaping',
  'addCommonTableExpression',
  'loadRelationIdAndMap',
  'loadAllRelationIds',
] as const;

for (const name of REFUSED) {
  Object.defineProperty(TenantQueryBuilder.prototype, name, {
    value(this: { refused(what: string): ShardingError }): never {
      throw this.refused(`${name}()`);
    },
  });
}

function tenantCondition(alias: string, metadata: EntityMetadata): string | undefined {
  const column = tenantColumnOf(metadata);
  return column === undefined ? undefined : `${alias}.${column} = :${PARAMETER}`;
}
