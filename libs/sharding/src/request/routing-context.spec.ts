import { describe, expect, it } from '@jest/globals';
import { setRoutingKey, RoutingContext, tenantOf } from './routing-context.js';
import { Tenancy } from './tenancy.js';
import type { RoutingKey } from '@app/routing';
import type { PrincipalTenant } from '../sharding.settings.js';

const context = (principalTenant?: PrincipalTenant) =>
  new RoutingContext(
    new Tenancy(
      {
        enabled: true,
        required: 'on_use',
        publicPaths: [],
        maxLength: 255,
        source: { kind: 'header', headerName: 'x-tenant-id' },
        ...(principalTenant && { principalTenant }),
      },
      [],
    ),
  );
const request = (tenant = 'acme', more: object = {}) => ({
  headers: {},
  rawHeaders: ['x-tenant-id', tenant],
  ...more,
});
const failure = (code: string, message: string) => expect.objectContaining({ code, message });
/** It may answer, or refuse, at once or later. */
const keyOf = async (routing: RoutingContext, of?: object) => routing.routingKey(of);
const OUTSIDE = failure(
  'no_routing_key',
  'no routing key here: there is no request in sight. Use Shards.dbFor(key) or Shards.runFor(key, work)',
);

describe('the routing key of a request', () => {
  it('is its tenant, within the request and by the request', async () => {
    const routing = context();
    const acme = request();
    await routing.runRequest(acme, async () => {
      await expect(keyOf(routing)).resolves.toBe('acme');
      await expect(tenantOf()).resolves.toBe('acme');
    });
    await expect(keyOf(routing, acme)).resolves.toBe('acme');
    await expect(keyOf(routing, request('globex'))).resolves.toBe('globex');
  });

  it('is not known outside of any', async () => {
    await expect(keyOf(context())).rejects.toThrow(OUTSIDE);
    await expect(tenantOf()).rejects.toThrow(OUTSIDE);
    await expect(tenantOf(request())).rejects.toThrow(OUTSIDE);
  });

  it('is the same for the request of Fastify and the one of Node below it', async () => {
    const routing = context((from) => (from as { user?: string }).user);
    const node = request();
    const fastify = { raw: node, user: 'acme' };
    await routing.runRequest(node, async () => {
      await expect(keyOf(routing)).rejects.toMatchObject({ code: 'cross_tenant' });
      await expect(tenantOf(fastify)).resolves.toBe('acme');
      await expect(keyOf(routing)).resolves.toBe('acme');
    });
  });

  it('never mixes up requests that run at once', async () => {
    const routing = context(async (from) => (from as { user: string }).user);
    const tenants = Array.from({ length: 200 }, (_, n) => `tenant-${n}`);
    const seen = tenants.map((tenant) =>
      routing.runRequest(request(tenant, { user: tenant }), async () => {
        await Promise.resolve();
        return Promise.all([keyOf(routing), tenantOf()]);
      }),
    );
    expect(await Promise.all(seen)).toEqual(tenants.map((tenant) => [tenant, tenant]));
  });
});

describe('the tenant of a request', () => {
  it('is found out once, however many ask', async () => {
    let asked = 0;
    const routing = context(async () => (asked++, 'acme'));
    const acme = request();
    await Promise.all(Array.from({ length: 10 }, () => keyOf(routing, acme)));
    await keyOf(routing, acme);
    expect(asked).toBe(1);
  });

  it('is found out again after a refusal: a guard may have authenticated the principal meanwhile', async () => {
    let principal: string | undefined;
    const routing = context(() => principal);
    const acme = request();
    await expect(keyOf(routing, acme)).rejects.toMatchObject({ code: 'cross_tenant' });
    principal = 'acme';
    await expect(keyOf(routing, acme)).resolves.toBe('acme');
  });
});

describe('setRoutingKey', () => {
  it.each<RoutingKey>(['globex', 7, 7n, Uint8Array.of(1), ''])(
    'wins over the tenant, which stays known: %p',
    async (key) => {
      const routing = context();
      const acme = request();
      setRoutingKey(acme, key);
      await routing.runRequest(acme, async () => {
        await expect(keyOf(routing)).resolves.toBe(key);
        await expect(tenantOf()).resolves.toBe('acme');
      });
    },
  );

  it('wins also when it is called while the tenant is being found out', async () => {
    let found: (tenant: string) => void = () => undefined;
    const routing = context(() => new Promise((resolve) => (found = resolve)));
    const acme = request();
    const key = keyOf(routing, acme);
    await new Promise(setImmediate);
    setRoutingKey(acme, 'globex');
    found('acme');
    await expect(key).resolves.toBe('globex');
  });

  it('comes too late once the request is routed, unless nothing changes', async () => {
    const routing = context();
    const late = failure(
      'routing_key_fixed',
      'the request is already routed: call setRoutingKey before the first use of a shard',
    );
    const acme = request();
    await keyOf(routing, acme);
    expect(() => setRoutingKey(acme, 'globex')).toThrow(late);
    await expect(keyOf(routing, acme)).resolves.toBe('acme');
    const overridden = request();
    setRoutingKey(overridden, 'a');
    setRoutingKey(overridden, 'b');
    await keyOf(routing, overridden);
    setRoutingKey(overridden, 'b');
    expect(() => setRoutingKey(overridden, 'a')).toThrow(late);
  });

  it('may still be called after the tenant was refused', async () => {
    const routing = context(() => undefined);
    const acme = request();
    await expect(keyOf(routing, acme)).rejects.toMatchObject({ code: 'cross_tenant' });
    setRoutingKey(acme, 'globex');
    await expect(keyOf(routing, acme)).resolves.toBe('globex');
  });

  it.each(['\ud800', 'a\u0000', 1.5, null, {}])('refuses what is no routing key: %p', (key) => {
    expect(() => setRoutingKey(request(), key as RoutingKey)).toThrow(
      expect.objectContaining({ code: 'invalid_routing_key' }),
    );
  });

  it('leaves nothing on the request that a client could name', () => {
    const acme = request();
    setRoutingKey(acme, 'globex');
    expect(Object.keys(acme)).toEqual(['headers', 'rawHeaders']);
    expect(JSON.parse(JSON.stringify(acme))).toEqual(request());
  });

  it.each([
    [
      'a text',
      { override: 'globex', routingKey: 'globex', 'nestjs-sharding.routing-store': { override: 'globex' } },
    ],
    ['__proto__', JSON.parse('{"__proto__":{"override":"globex","fixed":true}}') as object],
  ])('is not done by properties that a client fills: %s', async (_what, injected) => {
    const acme = Object.assign(request(), { body: injected, query: injected }, injected);
    await expect(keyOf(context(), acme)).resolves.toBe('acme');
  });
});

describe('runFor', () => {
  it('routes the work by its key, and its tenant is the key', async () => {
    const routing = context();
    await routing.runFor('acme', async () => {
      await expect(keyOf(routing)).resolves.toBe('acme');
      await expect(tenantOf()).resolves.toBe('acme');
    });
    await expect(keyOf(routing)).rejects.toThrow(OUTSIDE);
  });

  it('has no tenant when the key is not a text', async () => {
    await context().runFor(7, () =>
      expect(tenantOf()).rejects.toThrow(
        failure('no_routing_key', 'the running work is routed by a key that is not a tenant'),
      ),
    );
  });

  it('inside a request is an island: the request keeps its own key', async () => {
    const routing = context();
    const acme = request();
    await routing.runRequest(acme, async () => {
      await routing.runFor('globex', async () => {
        await expect(keyOf(routing)).resolves.toBe('globex');
        await expect(keyOf(routing, acme)).resolves.toBe('acme');
      });
      await expect(keyOf(routing)).resolves.toBe('acme');
    });
  });

  it('refuses what is no routing key', async () => {
    await expect(context().runFor('\ud800', async () => undefined)).rejects.toThrow(
      expect.objectContaining({ code: 'invalid_routing_key' }),
    );
  });
});

describe('what a context has written', () => {
  const primary = {};
  const dirty = (routing: RoutingContext) => routing.causalMarks().get(primary)?.dirty ?? false;
  const write = (routing: RoutingContext) => routing.causalMarks().of(primary).wrote();

  it('is known to the whole request, wherever it was written', async () => {
    const routing = context();
    const acme = request();
    await routing.runRequest(acme, async () => {
      await routing.runFor('globex', () => routing.runFor(7, async () => write(routing)));
      expect(dirty(routing)).toBe(true);
      await routing.runFor('globex', async () => expect(dirty(routing)).toBe(true));
    });
    expect(routing.marksOf(acme).get(primary)?.dirty).toBe(true);
    await routing.runRequest(request(), async () => expect(dirty(routing)).toBe(false));
    await routing.runFor('globex', async () => expect(dirty(routing)).toBe(false));
  });

  it('is known to all of an outermost runFor, and to the work outside that goes on behind it', async () => {
    const routing = context();
    await routing.runFor('acme', async () => {
      await routing.runFor('globex', async () => write(routing));
      expect(dirty(routing)).toBe(true);
    });
    await routing.runFor('acme', async () => expect(routing.causalMarks().covering(primary)).toEqual([]));
    expect(routing.causalMarks().covering(primary)).toMatchObject([{ dirty: true }]);
    write(routing);
    await routing.runFor('acme', async () => {
      expect(routing.causalMarks().covering(primary)).toMatchObject([{ dirty: true }]);
    });
  });

  it('is known to a request whose context was lost and is given by its object', async () => {
    const routing = context();
    const acme = request();
    await keyOf(routing, acme);
    write(routing);
    await routing.runRequest(acme, async () => {
      expect(routing.causalMarks().covering(primary)).toMatchObject([{ dirty: true }]);
    });
    await routing.runRequest(request(), async () => {
      expect(routing.causalMarks().covering(primary)).toEqual([]);
    });
  });

  it('is carried by no token without sessions', async () => {
    const routing = context();
    expect(routing.sessions).toBeUndefined();
    await routing.runFor(
      'acme',
      async () => {
        write(routing);
        expect(await routing.sessionToken()).toBeUndefined();
      },
      { session: 'v1.x' },
    );
  });
});
