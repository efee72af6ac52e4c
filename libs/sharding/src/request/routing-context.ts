import { AsyncLocalStorage } from 'node:async_hooks';
import { Inject, Injectable } from '@nestjs/common';
import { assertRoutingKey, ShardingError } from '@app/routing';
import { chain } from '../shards/maybe-promise.js';
import { rawRequest } from './http-request.js';
import { Tenancy } from './tenancy.js';
import type { RoutingKey } from '@app/routing';
import type { MaybePromise } from '../shards/maybe-promise.js';
import type { RoutingKeySource } from '../shards/shards.js';

/** What the running work is routed by: one request, or one `runFor`. */
interface RoutingStore {
  /** Absent in `runFor`. */
  readonly request?: object;
  /** Set by `runFor` and `setRoutingKey`; wins over the tenant. */
  override?: RoutingKey;
  /** The tenant, asked for once; asked again only after a refusal. */
  tenant?: MaybePromise<string> | undefined;
  tenancy?: Tenancy;
  /** True from the first use on: the route of a request does not change under way. */
  fixed: boolean;
}

const storage = new AsyncLocalStorage<RoutingStore>();

/** Server code alone can reach it: no header, body or query has a symbol for a key. */
const STORE = Symbol.for('nestjs-sharding.routing-store');

/**
 * Routes the rest of a request by `key` instead of its tenant. For server code that knows better, such as a guard of an
 * administration; never pass on what a client sent.
 *
 * @throws ShardingError `invalid_routing_key`; `routing_key_fixed` after the request was routed by another key
 */
export function setRoutingKey(request: object, key: RoutingKey): void {
  assertRoutingKey(key);
  const store = storeOf(request);
  if (store.fixed && store.override !== key) {
    throw new ShardingError(
      'routing_key_fixed',
      'the request is already routed: call setRoutingKey before the first use of a shard',
    );
  }
  store.override = key;
}

/**
 * The tenant of a request, or without one of the running work.
 *
 * @throws ShardingError `no_routing_key` outside of any, else as `Tenancy.tenantOf`
 */
export async function tenantOf(request?: object): Promise<string> {
  return currentTenant(request);
}

/** {@link tenantOf}, at once where nothing needs to be waited for; it may then throw at once, too. */
export function currentTenant(request?: object): MaybePromise<string> {
  return tenantIn(storeFor(request), request);
}

function tenantIn(store: RoutingStore, request: object | undefined): MaybePromise<string> {
  if (store.tenant !== undefined) return store.tenant;
  if (!store.request) {
    if (typeof store.override === 'string') return store.override;
    throw new ShardingError('no_routing_key', 'the running work is routed by a key that is not a tenant');
  }
  if (!store.tenancy) throw outside();
  const tenant = store.tenancy.tenantOf(request ?? store.request);
  store.tenant = tenant instanceof Promise ? tenant.catch((error: unknown) => refused(store, error)) : tenant;
  return store.tenant;
}

/** Asked again next time: a guard may authenticate the principal in the meantime. */
function refused(store: RoutingStore, error: unknown): never {
  store.tenant = undefined;
  throw error;
}

/** Holds the routing key of the running work. A singleton; the work is told apart by AsyncLocalStorage. */
@Injectable()
export class RoutingContext implements RoutingKeySource {
  constructor(@Inject(Tenancy) private readonly tenancy: Tenancy) {}

  /** Runs the rest of a request inside its routing context. */
  runRequest<T>(request: object, work: () => T): T {
    const store = storeOf(request);
    store.tenancy = this.tenancy;
    return storage.run(store, work);
  }

  async runFor<T>(key: RoutingKey, work: () => Promise<T>): Promise<T> {
    assertRoutingKey(key);
    return storage.run({ override: key, fixed: true }, work);
  }

  routingKey(request?: object): MaybePromise<RoutingKey> {
    const store = storeFor(request);
    store.tenancy ??= this.tenancy;
    return chain(store.override ?? tenantIn(store, request), (key) => {
      store.fixed = true;
      return store.override ?? key; // it may have been set in the meantime
    });
  }
}

/** The store of an HTTP request wins; other transports have theirs in AsyncLocalStorage. */
function storeFor(request: object | undefined): RoutingStore {
  if (request && 'headers' in rawRequest(request)) return storeOf(request);
  const store = storage.getStore() ?? (request && storeOf(request));
  if (!store) throw outside();
  return store;
}

function storeOf(request: object): RoutingStore {
  const holder = rawRequest(request) as { [STORE]?: RoutingStore };
  const known = holder[STORE];
  if (known) return known;
  const store: RoutingStore = { request, fixed: false };
  Object.defineProperty(holder, STORE, { value: store });
  return store;
}

function outside(): ShardingError {
  return new ShardingError(
    'no_routing_key',
    'no routing key here: there is no request in sight. Use Shards.dbFor(key) or Shards.runFor(key, work)',
  );
}
