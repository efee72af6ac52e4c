import { TenantQueryBuilder } from './tenant-query-builder.js';
import type { ObjectLiteral } from 'typeorm';
import type { TenantRun } from './tenant-query-builder.js';

/** Finds the tenant and a database, and runs something there. */
export type Route = <T>(work: (run: TenantRun) => Promise<T>) => Promise<T>;

/** A tenant's query builder that is routed only when it is run: it may be made anywhere. */
export class RoutedQueryBuilder<E extends ObjectLiteral> extends TenantQueryBuilder<E> {
  private route: Route | undefined;

  routedBy(route: Route): this {
    this.route = route;
    return this;
  }

  override clone(): this {
    const copy = super.clone();
    return this.route ? copy.routedBy(this.route) : copy;
  }

  override getRawAndEntities<T = unknown>(): Promise<{ entities: E[]; raw: T[] }> {
    return this.routed((query) => query.getRawAndEntities<T>());
  }

  override getRawMany(): Promise<never> {
    return this.routed((query) => query.getRawMany() as Promise<never>);
  }

  override getManyAndCount(): Promise<[E[], number]> {
    return this.routed((query) => query.getManyAndCount());
  }

  override getCount(): Promise<number> {
    return this.routed((query) => query.getCount());
  }

  override getExists(): Promise<boolean> {
    return this.routed((query) => query.getExists());
  }

  override stream(): Promise<never> {
    return this.routed((query) => query.stream() as Promise<never>);
  }

  /** On a copy: the same builder may run again, for another tenant. */
  private routed<T>(work: (query: TenantQueryBuilder<E>) => Promise<T>): Promise<T> {
    const { route } = this;
    if (!route) throw this.refused('a builder that was not made by a repository');
    return route((run) => work(new TenantQueryBuilder<E>(this as never).on(run)));
  }
}
