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

/** How the tenant column is named, and how a comparison of it looks. */
interface Pattern {
  readonly names: readonly string[];
  readonly comparison: RegExp;
}

const patterns = new WeakMap<EntityMetadata, Pattern>();

/**
 * A plain comparison of the tenant column with another tenant is a mistake that an empty answer would hide.
 *
 * @throws ShardingError `cross_tenant`
 */
export function assertNamesOwn({ sql, metadata, tenant, parameters }: Named): void {
  const { names, comparison } = patternOf(metadata);
  if (!names.some((name) => sql.includes(name))) return;
  for (const [, name, text] of sql.matchAll(comparison)) {
    const named = name === undefined ? text : parameters[name];
    const all = Array.isArray(named) ? (named as unknown[]) : [named];
    if (!all.every((one) => sameTenant(one, tenant))) {
      throw foreignTenant(metadata, 'a condition names another tenant');
    }
  }
}

/** The tenant column, by its property or its name in the database, against a parameter or a literal. */
function patternOf(metadata: EntityMetadata): Pattern {
  const known = patterns.get(metadata);
  if (known) return known;
  const property = tenantColumnOf(metadata);
  const column = property === undefined ? undefined : metadata.findColumnWithPropertyPath(property);
  const names = column ? [column.propertyName, column.databaseName] : [];
  const either = names.map((name) => name.replaceAll(/\W/g, '\\$&')).join('|');
  const made = {
    names,
    comparison: new RegExp(
      `\\."?(?:${either})\\b"?\\s*(?:=|in\\s*\\()\\s*(?::(?:\\.\\.\\.)?([\\w.]+)|'([^']*)')`,
      'gi',
    ),
  };
  patterns.set(metadata, made);
  return made;
}
