import { SelectQueryBuilder } from 'typeorm';
import { ShardingError } from '@app/routing';
import {
  assertEnclosed,
  checkWhere,
  foreignTenant,
  sameTenant,
  tenantColumnOf,
} from './tenant-conditions.js';
import type { DataSource, EntityMetadata, ObjectLiteral, QueryRunner } from 'typeorm';
import type { Tenant } from './tenant-conditions.js';

/** The parameter that carries the tenant. */
const PARAMETER = 'sharding_tenant';

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
 * It only reads: what TypeORM would turn into another kind of statement is refused. SQL of your own, such as a subquery
 * in a string, is taken as it is.
 */
export class TenantQueryBuilder<E extends ObjectLiteral> extends SelectQueryBuilder<E> {
  private run: TenantRun | undefined;

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
    return this.run ? other.on(this.run) : other;
  }

  protected override obtainQueryRunner(): QueryRunner {
    if (!this.run) throw new ShardingError('no_routing_key', 'the query builder is not routed yet');
    return this.run.runner ?? this.run.source.createQueryRunner('slave');
  }

  protected override join(...parts: Parameters<SelectQueryBuilder<E>['join']>): void {
    super.join(...parts);
    const [, , alias] = parts;
    const joined = this.expressionMap.joinAttributes.at(-1);
    const { metadata } = joined ?? {};
    if (!joined || !metadata) throw this.refused('join of what is no entity');
    if (joined.condition) assertEnclosed(joined.condition, metadata);
    const own = tenantCondition(alias, metadata);
    if (own) joined.condition = joined.condition ? `( ${joined.condition} ) AND ${own}` : own;
  }

  /** Each piece of the caller's SQL stays where it is put. */
  protected override createWhereConditionExpression(
    ...[condition, wrapped]: Parameters<SelectQueryBuilder<E>['createWhereConditionExpression']>
  ): string {
    const main = this.expressionMap.mainAlias?.metadata;
    if (typeof condition === 'string' && main) assertEnclosed(condition, main);
    return super.createWhereConditionExpression(condition, wrapped);
  }

  /** Around everything that was asked for. */
  protected override createWhereExpression(): string {
    const asked = super.createWhereExpression();
    const own = this.expressionMap.aliases.flatMap((alias) => {
      const from = alias.type === 'from' && alias.hasMetadata;
      return (from && tenantCondition(alias.name, alias.metadata)) || [];
    });
    if (own.length === 0) return asked;
    const conditions = asked.replace(/^ WHERE /, '');
    const main = this.expressionMap.mainAlias?.metadata;
    if (main) this.assertOwn(conditions, main);
    return ` WHERE ${[...(conditions === '' ? [] : [`( ${conditions} )`]), ...own].join(' AND ')}`;
  }

  /** Objects are checked before they become SQL. */
  protected override getWhereCondition(
    where: Parameters<SelectQueryBuilder<E>['getWhereCondition']>[0],
  ): ReturnType<SelectQueryBuilder<E>['getWhereCondition']> {
    const main = this.expressionMap.mainAlias?.metadata;
    const plain = typeof where === 'object' && where !== null && !('whereFactory' in where);
    if (plain && main) checkWhere(where, main, this.run?.tenant);
    return super.getWhereCondition(where);
  }

  override setParameter(key: string, value: unknown): this {
    if (key === PARAMETER) throw this.refused(`a parameter named ${PARAMETER}`);
    return super.setParameter(key, value);
  }

  /** TypeORM puts it into the SQL as it is. */
  override comment(): never {
    throw this.refused('comment()');
  }

  /** A cache by name would give one tenant the rows of another. */
  override cache(): never {
    throw this.refused('cache()');
  }

  override insert(): never {
    throw this.refused('insert()');
  }

  override update(): never {
    throw this.refused('update()');
  }

  override delete(): never {
    throw this.refused('delete()');
  }

  override softDelete(): never {
    throw this.refused('softDelete()');
  }

  override restore(): never {
    throw this.refused('restore()');
  }

  override relation(): never {
    throw this.refused('relation()');
  }

  override loadRelationIdAndMap(): never {
    throw this.refused('loadRelationIdAndMap()');
  }

  override loadAllRelationIds(): never {
    throw this.refused('loadAllRelationIds()');
  }

  /** A plain comparison of the tenant column with another tenant is a mistake that an empty answer would hide. */
  private assertOwn(conditions: string, main: EntityMetadata): void {
    const column = tenantColumnOf(main);
    if (column === undefined || !this.run) return;
    const compared = new RegExp(`\\.${column}\\b\\s*(?:=|in\\s*\\()\\s*:(?:\\.\\.\\.)?([\\w.]+)`, 'gi');
    for (const [, name = ''] of conditions.matchAll(compared)) {
      const named: unknown = this.expressionMap.parameters[name];
      const all = Array.isArray(named) ? (named as unknown[]) : [named];
      if (name !== PARAMETER && !all.every((one) => sameTenant(one, this.run?.tenant ?? ''))) {
        throw foreignTenant(main, 'a condition names another tenant');
      }
    }
  }

  protected refused(what: string): ShardingError {
    return new ShardingError(
      'invalid_options',
      `${what} is not available on a tenant's query builder: use the methods of the repository, or ShardDb with a tenant condition of your own`,
    );
  }
}

function tenantCondition(alias: string, metadata: EntityMetadata): string | undefined {
  const column = tenantColumnOf(metadata);
  return column === undefined ? undefined : `${alias}.${column} = :${PARAMETER}`;
}
