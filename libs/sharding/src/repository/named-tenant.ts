import { foreignTenant } from './foreign-tenant.js';
import { sameTenant, tenantColumnOf } from './tenant-conditions.js';
import type { EntityMetadata } from 'typeorm';
import type { Tenant } from './tenant-conditions.js';

interface Named {
  readonly sql: string;
  readonly metadata: EntityMetadata;
  readonly tenant: Tenant;
  readonly parameters: Readonly<Record<string, unknown>>;
}

const patterns = new WeakMap<EntityMetadata, RegExp | undefined>();

/**
 * A plain comparison of the tenant column with another tenant is a mistake that an empty answer would hide.
 *
 * @throws ShardingError `cross_tenant`
 */
export function assertNamesOwn({ sql, metadata, tenant, parameters }: Named): void {
  const pattern = patternOf(metadata);
  if (!pattern || sql === '') return;
  for (const [, name, text] of sql.matchAll(pattern)) {
    const named = name === undefined ? text : parameters[name];
    const all = Array.isArray(named) ? (named as unknown[]) : [named];
    if (!all.every((one) => sameTenant(one, tenant))) {
      throw foreignTenant(metadata, 'a condition names another tenant');
    }
  }
}

/** The tenant column, by its property or its name in the database, against a parameter or a literal. */
function patternOf(metadata: EntityMetadata): RegExp | undefined {
  if (patterns.has(metadata)) return patterns.get(metadata);
  const property = tenantColumnOf(metadata);
  const name = metadata.findColumnWithPropertyPath(property ?? '')?.databaseName ?? property;
  const names = [property, name].map((one) => one?.replaceAll(/\W/g, '\\$&')).join('|');
  const made =
    property === undefined
      ? undefined
      : new RegExp(
          `\\.(?:"?)(?:${names})\\b"?\\s*(?:=|in\\s*\\()\\s*(?::(?:\\.\\.\\.)?([\\w.]+)|'([^']*)')`,
          'gi',
        );
  patterns.set(metadata, made);
  return made;
}
