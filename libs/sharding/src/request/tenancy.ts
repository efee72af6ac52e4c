import { ShardingError } from '@app/routing';
import { chain } from '../shards/maybe-promise.js';
import { pathOf } from './http-request.js';
import { jwtTenantSource } from './tenant-sources/jwt-source.js';
import { tenantFromHeader } from './tenant-sources/header-source.js';
import { tenantFromSubdomain } from './tenant-sources/subdomain-source.js';
import { checkedTenant } from './tenant-value.js';
import type { MaybePromise } from '../shards/maybe-promise.js';
import type { PrincipalTenant, TenancySettings, TenantSourceSettings } from '../sharding.settings.js';

type TenantSource = (request: object) => MaybePromise<string>;

/** Knows which tenant a request belongs to. */
export class Tenancy {
  private readonly source: TenantSource;
  private readonly publicPaths: readonly string[];
  private readonly healthPaths: readonly string[];

  /** @param healthPaths paths that never need a tenant, beside the configured public ones */
  constructor(
    private readonly settings: TenancySettings,
    healthPaths: readonly string[],
  ) {
    this.source = settings.enabled ? sourceOf(settings.source) : () => disabled();
    this.publicPaths = settings.enabled ? rooted(settings.publicPaths) : [];
    this.healthPaths = rooted(healthPaths);
  }

  /** Whether any path at all requires a tenant. */
  get requiresAlways(): boolean {
    return this.settings.enabled && this.settings.required === 'always';
  }

  /**
   * Whether a request without a tenant is refused before anything asks for it.
   *
   * @param globalPrefix of the application; the health paths lie below it unless they are excluded from it
   */
  isRequired(request: object, globalPrefix = ''): boolean {
    if (!this.requiresAlways) return false;
    const path = pathOf(request);
    if (DOT_SEGMENT.test(path)) return true; // it may lead out of the public path again
    const [prefix = ''] = rooted([globalPrefix]);
    const open = [
      ...this.publicPaths,
      ...this.healthPaths,
      ...(prefix === '' ? [] : this.healthPaths.map((health) => prefix + health)),
    ];
    return !open.some((below) => path === below || path.startsWith(`${below}/`));
  }

  /**
   * The tenant of a request, checked; at once where the source need not wait.
   *
   * @throws ShardingError `no_routing_key`, `invalid_tenant`, `invalid_token`, `identity_unavailable`;
   *   `cross_tenant` when the principal belongs to another tenant, or to none that is known
   */
  tenantOf(request: object): MaybePromise<string> {
    const { settings } = this;
    if (!settings.enabled) return disabled();
    const { maxLength, normalize, principalTenant } = settings;
    const tenant = chain(this.source(request), (given) => {
      const checked = checkedTenant(given, maxLength);
      return normalize ? checkedTenant(normalize(checked), maxLength) : checked;
    });
    return principalTenant ? agreed(tenant, principalTenant, request) : tenant;
  }
}

async function agreed(
  known: MaybePromise<string>,
  principalTenant: PrincipalTenant,
  request: object,
): Promise<string> {
  const tenant = await known;
  const principal = await principalTenant(request);
  if (principal !== null && principal !== tenant) throw foreignTenant(principal === undefined);
  return tenant;
}

const DOT_SEGMENT = /\/(\.|%2e){1,2}(\/|$)/i;

/** `/a/b` of `a/b/`; nothing of what would be the root, which is below everything. */
function rooted(paths: readonly string[]): string[] {
  return paths.map((path) => `/${path.replace(/^\/+|\/+$/g, '')}`).filter((path) => path !== '/');
}

function sourceOf(settings: TenantSourceSettings): TenantSource {
  switch (settings.kind) {
    case 'header':
      return (request) => tenantFromHeader(request, settings.headerName);
    case 'subdomain':
      return (request) => tenantFromSubdomain(request, settings.baseDomain);
    case 'jwt':
      return jwtTenantSource(settings);
    case 'custom':
      return async (request) => {
        const tenant = await settings.resolve(request);
        if (tenant === undefined) throw new ShardingError('no_routing_key', 'the request names no tenant');
        return tenant;
      };
  }
}

function disabled(): never {
  throw new ShardingError(
    'no_routing_key',
    'no routing key: configure [tenancy], call setRoutingKey(request, key), or use Shards.dbFor(key)',
  );
}

function foreignTenant(unknown: boolean): ShardingError {
  const reason = unknown
    ? 'nobody is authenticated yet: authenticate in middleware, or route after the guard with Shards.current(request)'
    : 'it belongs to another tenant';
  return new ShardingError(
    'cross_tenant',
    `the principal may not act for the tenant of the request: ${reason}`,
  );
}
