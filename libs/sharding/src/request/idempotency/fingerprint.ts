import { createHash } from 'node:crypto';
import type { RoutingKey } from '@app/routing';

/** Whom a key belongs to, and what for. */
export interface KeyScope {
  readonly tenant: RoutingKey | undefined;
  /** Beside the tenant. */
  readonly owner: string;
  readonly method: string;
  /** As sent, without query. */
  readonly path: string;
}

/** One short text for a scope; paths may be long. */
export function scopeOf({ tenant, owner, method, path }: KeyScope): string {
  return digest([kindOf(tenant), tenantText(tenant), owner, method, path]);
}

/** Equal for requests that ask for the same: the order of names in a JSON body does not count. */
export function fingerprintOf(query: unknown, body: unknown): string {
  return digest([query, body]);
}

/** How a routing key is kept in the tables of the library. */
export function tenantText(tenant: RoutingKey | undefined): string | null {
  if (tenant === undefined) return null;
  return typeof tenant === 'object' ? Buffer.from(tenant).toString('hex') : String(tenant);
}

function kindOf(tenant: RoutingKey | undefined): string {
  return typeof tenant === 'bigint' ? 'number' : typeof tenant;
}

function digest(parts: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(parts)))
    .digest('hex');
}

function sorted(value: unknown): unknown {
  if (Buffer.isBuffer(value)) return { bytes: value.toString('base64') };
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, part]) => [name, sorted(part)]));
}
