import { describe, expect, it } from '@jest/globals';
import { Tenancy } from './tenancy.js';
import type { CustomTenantSource, TenancySettings } from '../sharding.settings.js';

type Enabled = Extract<TenancySettings, { enabled: true }>;

/** It may answer, or refuse, at once or later. */
function asking(...parts: ConstructorParameters<typeof Tenancy>) {
  const tenancy = new Tenancy(...parts);
  return {
    isRequired: (...of: Parameters<Tenancy['isRequired']>) => tenancy.isRequired(...of),
    tenantOf: async (of: object) => tenancy.tenantOf(of),
  };
}

const tenancy = (settings: Partial<Enabled> = {}, healthPaths: readonly string[] = []) =>
  asking(
    {
      enabled: true,
      required: 'on_use',
      publicPaths: [],
      maxLength: 255,
      source: { kind: 'header', headerName: 'x-tenant-id' },
      ...settings,
    },
    healthPaths,
  );
const request = (tenant = 'acme') => ({ headers: {}, rawHeaders: ['x-tenant-id', tenant] });
const failure = (code: string, message: string) => expect.objectContaining({ code, message });

describe('public paths', () => {
  const requires = (publicPaths: readonly string[], path: string, healthPaths: readonly string[] = []) =>
    tenancy({ required: 'always', publicPaths }, healthPaths).isRequired({ url: path });

  it.each([
    ['/login', '/login'],
    ['/login', '/login/'],
    ['/login', '/login/reset/1'],
    ['/login', '/login?next=/x'],
    ['/login/', '/login'],
    ['login', '/login'],
    ['//login//', '/login/x'],
    ['/a/b', '/a/b/c'],
  ])('%s opens %s', (publicPath, path) => expect(requires([publicPath], path)).toBe(false));

  it.each([
    ['/login', '/logins'],
    ['/login', '/login-as'],
    ['/login', '/'],
    ['/login', '/api/login'],
    ['/login', '//login'],
    ['/login', '/LOGIN'],
    ['/login', '/logi%6e'],
    ['/login', '/login/../api'],
    ['/login', '/login/x/%2E%2e/../api'],
    ['/login', '/login/./'],
    ['/login', '/login/..'],
    ['/login', '/x?/login'],
    ['/a/b', '/a'],
    ['/*', '/api'],
  ])('%s does not open %s', (publicPath, path) => expect(requires([publicPath], path)).toBe(true));

  it.each(['', '/', '//', '///'])('never open everything: %j', (publicPath) => {
    expect(requires([publicPath], '/api')).toBe(true);
    expect(requires([publicPath], '/')).toBe(true);
    expect(requires([], '/api', [publicPath])).toBe(true);
  });

  it('are the paths of health as well', () => {
    expect(requires([], '/health/live', ['health', 'ready'])).toBe(false);
    expect(requires([], '/ready', ['health', 'ready'])).toBe(false);
    expect(requires([], '/readyz', ['health', 'ready'])).toBe(true);
  });

  it('are below the global prefix as well, for health alone', () => {
    const settings = { required: 'always' as const, publicPaths: ['/login'] };
    const requires = (path: string, prefix?: string) =>
      tenancy(settings, ['health']).isRequired({ url: path }, prefix);
    for (const prefix of ['api', '/api', '/api/']) {
      expect(requires('/api/health/live', prefix)).toBe(false);
      expect(requires('/health', prefix)).toBe(false);
      expect(requires('/api/login', prefix)).toBe(true);
      expect(requires('/apihealth', prefix)).toBe(true);
    }
    for (const prefix of [undefined, '', '/']) expect(requires('/api/health', prefix)).toBe(true);
  });

  it('are of no importance when a tenant is required on use, or tenancy is off', () => {
    expect(tenancy().isRequired({ url: '/api' })).toBe(false);
    expect(asking({ enabled: false }, []).isRequired({ url: '/api' })).toBe(false);
  });
});

describe('the tenant of a request', () => {
  it('is not known when tenancy is off', async () => {
    await expect(asking({ enabled: false }, []).tenantOf(request())).rejects.toThrow(
      failure(
        'no_routing_key',
        'no routing key: configure [tenancy], call setRoutingKey(request, key), or use Shards.dbFor(key)',
      ),
    );
  });

  it('obeys the configured limit', async () => {
    await expect(tenancy({ maxLength: 4 }).tenantOf(request('acme'))).resolves.toBe('acme');
    await expect(tenancy({ maxLength: 3 }).tenantOf(request('acme'))).rejects.toThrow(
      failure('invalid_tenant', 'the tenant of the request must have at most 3 bytes'),
    );
  });

  it('is what normalize makes of it, under the same rules', async () => {
    const normalized = (normalize: (tenant: string) => string) =>
      tenancy({ normalize }).tenantOf(request('Acme'));
    await expect(normalized((tenant) => tenant.toLowerCase())).resolves.toBe('acme');
    await expect(normalized(() => ' ')).rejects.toThrow(
      failure('invalid_tenant', 'the tenant of the request must not be blank'),
    );
    await expect(normalized((tenant) => tenant.repeat(100))).rejects.toThrow(
      failure('invalid_tenant', 'the tenant of the request must have at most 255 bytes'),
    );
    await expect(normalized((async () => 'acme') as unknown as () => string)).rejects.toThrow(
      failure('invalid_tenant', 'the tenant of the request must be a string'),
    );
  });

  it('is checked before normalize sees it', async () => {
    const seen: string[] = [];
    const normalize = (tenant: string) => (seen.push(tenant), 'acme');
    await expect(tenancy({ normalize }).tenantOf(request('a'.repeat(256)))).rejects.toThrow(
      'at most 255 bytes',
    );
    expect(seen).toEqual([]);
  });
});

describe('a custom source', () => {
  const custom = (resolve: CustomTenantSource) =>
    tenancy({ source: { kind: 'custom', resolve } }).tenantOf(request());

  it('is asked with the request, now or later', async () => {
    const given = request();
    const resolve = (asked: unknown) => (asked === given ? 'acme' : 'other');
    await expect(tenancy({ source: { kind: 'custom', resolve } }).tenantOf(given)).resolves.toBe('acme');
    await expect(custom(async () => 'globex')).resolves.toBe('globex');
  });

  it('may find none, and obeys the rules for tenants', async () => {
    await expect(custom(() => undefined)).rejects.toThrow(
      failure('no_routing_key', 'the request names no tenant'),
    );
    await expect(custom((() => 7) as unknown as CustomTenantSource)).rejects.toThrow(
      failure('invalid_tenant', 'the tenant of the request must be a string'),
    );
  });

  it('has its own errors passed on untouched', async () => {
    const own = new Error('mine');
    await expect(
      custom(() => {
        throw own;
      }),
    ).rejects.toBe(own);
  });
});

describe('the principal', () => {
  const as = (principal: string | null | undefined) =>
    tenancy({ principalTenant: async () => principal, normalize: (tenant) => tenant.toLowerCase() }).tenantOf(
      request('ACME'),
    );
  const refused = (reason: string) =>
    failure('cross_tenant', `the principal may not act for the tenant of the request: ${reason}`);

  it('may act for its own tenant, or for any when it is null', async () => {
    await expect(as('acme')).resolves.toBe('acme');
    await expect(as(null)).resolves.toBe('acme');
  });

  it.each(['globex', 'ACME', 'acme ', '', '__proto__'])(
    'may not act for another one: %j',
    async (principal) => {
      await expect(as(principal)).rejects.toThrow(refused('it belongs to another tenant'));
    },
  );

  it('must be known', async () => {
    await expect(as(undefined)).rejects.toThrow(
      refused(
        'nobody is authenticated yet: authenticate in middleware, or route after the guard with Shards.current(request)',
      ),
    );
  });
});
