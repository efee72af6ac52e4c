import { ShardingError } from '@app/routing';
import { foreignTenant } from './foreign-tenant.js';
import { scopedWhere, tenantColumnOf } from './tenant-conditions.js';
import { assertFragment, assertValues } from './sql-fragment.js';
import { assertIds, giveIds } from './placed/given-ids.js';
import { shardedIdOf } from './sharded-id.decorator.js';
import { assertRelated } from './tenant-relations.js';
import { criteriaOf, insertOrder, lockOwn, stamp, writtenBy } from './tenant-writes.js';
import type {
  DeleteResult,
  EntityManager,
  EntityMetadata,
  InsertResult,
  ObjectLiteral,
  SaveOptions,
  UpdateResult,
} from 'typeorm';
import type { UpdateOptions } from 'typeorm/repository/UpdateOptions.js';
import type { UpsertOptions } from 'typeorm/repository/UpsertOptions.js';
import type { ShardDb } from '../shards/shard-db.js';
import type { Tenant } from './tenant-conditions.js';
import type { TenantPlace } from './tenant-place.js';
import type { Written } from './tenant-relations.js';

type Values = Record<string, unknown>;

/** The writes of one entity for one tenant, on one database. */
export class TenantWriter {
  private readonly tenant: Tenant;

  constructor(
    private readonly db: ShardDb,
    private readonly metadata: EntityMetadata,
    private readonly place: Pick<TenantPlace, 'tenant' | 'key'>,
  ) {
    this.tenant = place.tenant;
  }

  /** Stamps and inserts; ids that exist already are the server's error. */
  async insert(values: ObjectLiteral | ObjectLiteral[]): Promise<InsertResult> {
    await this.checked(values);
    return this.db.manager.insert(this.metadata.target, values);
  }

  /**
   * Inserts or updates. Rows with an id are locked and must be of the tenant; an id that is not stored is inserted, so
   * that a row that somebody else stores meanwhile is a conflict and never overwritten.
   */
  async save<T extends ObjectLiteral | ObjectLiteral[]>(entities: T, options?: SaveOptions): Promise<T> {
    const written = this.stamped(entities);
    const save = (manager: EntityManager) =>
      manager.save(this.metadata.target, entities as ObjectLiteral, options) as Promise<T>;
    const identified = written.some(({ entity, metadata }) => metadata.hasAllPrimaryKeys(entity));
    giveIds(this.rows(written));
    if (!identified) {
      await assertRelated(this.db.manager, written, this.tenant);
      return save(this.db.manager);
    }
    return this.db.tx(async ({ manager }) => {
      const missing = await lockOwn(manager, written, this.tenant);
      assertIds(this.rows(written.filter(({ entity }) => missing.has(entity))));
      await assertRelated(manager, written, this.tenant);
      for (const { entity, metadata } of insertOrder(written, missing)) {
        await manager.insert(metadata.target, entity);
      }
      return save(manager);
    });
  }

  async update(criteria: unknown, values: Values, options?: UpdateOptions): Promise<UpdateResult> {
    this.assertStays(values);
    this.assertSql(values, options);
    await assertRelated(this.db.manager, [{ entity: values, metadata: this.metadata }], this.tenant);
    return this.db.manager.update(this.metadata.target, this.scoped(criteria), values, options);
  }

  delete(criteria: unknown): Promise<DeleteResult> {
    return this.db.manager.delete(this.metadata.target, this.scoped(criteria));
  }

  softDelete(criteria: unknown): Promise<UpdateResult> {
    return this.db.manager.softDelete(this.metadata.target, this.scoped(criteria));
  }

  restore(criteria: unknown): Promise<UpdateResult> {
    return this.db.manager.restore(this.metadata.target, this.scoped(criteria));
  }

  increment(criteria: unknown, column: string, by: number | string): Promise<UpdateResult> {
    this.assertStep(column, by);
    return this.db.manager.increment(this.metadata.target, this.scoped(criteria), column, by);
  }

  decrement(criteria: unknown, column: string, by: number | string): Promise<UpdateResult> {
    this.assertStep(column, by);
    return this.db.manager.decrement(this.metadata.target, this.scoped(criteria), column, by);
  }

  /** With the tenant column among the conflict columns no other tenant's row can be the conflict. */
  async upsert(
    values: ObjectLiteral | ObjectLiteral[],
    conflict: string[] | UpsertOptions<ObjectLiteral>,
  ): Promise<InsertResult> {
    const paths = Array.isArray(conflict) ? conflict : conflict.conflictPaths;
    const names = Array.isArray(paths) ? paths : Object.keys(paths);
    const column = tenantColumnOf(this.metadata) ?? '';
    if (!names.includes(column)) {
      throw new ShardingError(
        'cross_tenant',
        `upsert of ${this.metadata.name} needs "${column}" among its conflict columns, in a unique index: else it could overwrite another tenant's row`,
      );
    }
    await this.checked(values, conflict);
    const options = Array.isArray(conflict) ? { conflictPaths: conflict } : conflict;
    return this.db.manager.upsert(this.metadata.target, values, withStoredId(options, this.metadata));
  }

  private rows(written: readonly Written[]) {
    return { written, key: this.place.key, shard: this.db.shard };
  }

  private stamped(entities: ObjectLiteral | ObjectLiteral[]) {
    const written = writtenBy(Array.isArray(entities) ? entities : [entities], this.metadata);
    stamp(written, this.tenant);
    return written;
  }

  /** Rows that are inserted as they are, and what they refer to. */
  private async checked(values: ObjectLiteral | ObjectLiteral[], options?: object): Promise<void> {
    const list = Array.isArray(values) ? values : [values];
    const written = list.map((entity: ObjectLiteral) => ({ entity, metadata: this.metadata }));
    stamp(written, this.tenant);
    giveIds(this.rows(written));
    assertIds(this.rows(written));
    for (const value of list) this.assertSql(value, options);
    await assertRelated(this.db.manager, written, this.tenant);
  }

  /** TypeORM takes SQL in values, as functions, and in some options. */
  private assertSql(values: ObjectLiteral, options: object = {}): void {
    assertValues(values, this.metadata);
    for (const sql of Object.values(options) as unknown[]) {
      if (typeof sql === 'string') assertFragment({ sql, metadata: this.metadata });
    }
  }

  private assertStep(column: string, by: unknown): void {
    this.assertStays({ [column]: by });
    if (typeof by === 'number' || typeof by === 'string') return;
    throw new ShardingError('invalid_options', `${this.metadata.name}.${column} changes by a number`);
  }

  private scoped(criteria: unknown): ObjectLiteral {
    const conditions = criteriaOf(criteria, this.metadata);
    const list = Array.isArray(conditions) ? (conditions as unknown[]) : [conditions];
    if (list.length === 0 || list.some((one) => Object.keys(one as object).length === 0)) {
      throw new ShardingError(
        'invalid_options',
        `criteria of ${this.metadata.name} are empty: name the rows`,
      );
    }
    return scopedWhere(conditions, this.metadata, this.tenant);
  }

  /** The tenant of a row never changes: that would be a move. */
  private assertStays(values: Values): void {
    const column = tenantColumnOf(this.metadata) ?? '';
    if (!(column in values) || values[column] === this.tenant) return;
    throw foreignTenant(this.metadata, `"${column}" cannot be changed`);
  }
}

/** A row that is there already keeps its id, and the caller's object gets it. */
function withStoredId(
  options: UpsertOptions<ObjectLiteral>,
  { target }: EntityMetadata,
): UpsertOptions<ObjectLiteral> {
  const column = shardedIdOf(target);
  return column ? { returning: [column.property], ...options } : options;
}
