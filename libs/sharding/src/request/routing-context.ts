import { AsyncLocalStorage } from 'node:async_hooks';
import { Inject, Injectable } from '@nestjs/common';
import { assertRoutingKey, ShardingError } from '@app/routing';
import { chain } from '../shards/maybe-promise.js';
import { CausalContexts } from '../shards/reads/causal-marks.js';
import { rawRequest } from './http-request.js';
import { ShardTrail } from './shard-trail.js';
import { Tenancy } from './tenancy.js';
import type { RoutingKey } from '@app/routing';
import type { MaybePromise } from '../shards/maybe-promise.js';
import type { CausalMarks } from '../shards/reads/causal-marks.js';
import type { CausalContext } from '../shards/reads/causality.js';
import type { RoutingKeySource, RunForOptions } from '../shards/shards.js';
import type { Sessions } from './session/sessions.js';

/** What the running work is routed by: one request, or one `runFor`. */
interface RoutingStore {
  /** Absent in `runFor`. */
  readonly request?: object;
  /** Set by `runFor` and `setRoutingKey`; wins over the tenant. */
  override?: RoutingKey;
  /** The tenant, asked for once; asked again only after a refusal. */
  tenant?: MaybePromise<string> | undefined;
  tenancy?: Tenancy;
  /** What the work has written where; made at the first use. */
  causal?: CausalMarks;
  /** What a `runFor` was called in: they are one context of reads and writes. */
  readonly around?: RoutingStore | undefined;
  /** Where it was routed to, each `runFor` inside of it included. */
  trail?: ShardTrail;
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

/** The shard that a request was routed to so far; `none`, or `several`. */
export function routedTo(request: object): string {
  return (rawRequest(request) as { [STORE]?: RoutingStore })[STORE]?.trail?.label ?? 'none';
}

/** Holds the routing key of the running work. A singleton; the work is told apart by AsyncLocalStorage. */
@Injectable()
export class RoutingContext implements RoutingKeySource, CausalContext {
  readonly #contexts = new CausalContexts();
  #sessions: Sessions | undefined;

  constructor(@Inject(Tenancy) private readonly tenancy: Tenancy) {}

  /** Runs the rest of a request inside its routing context. */
  runRequest<T>(request: object, work: () => T): T {
    const store = storeOf(request);
    store.tenancy = this.tenancy;
    return storage.run(store, work);
  }

  /** @param options `session`: a token of {@link sessionToken}, whose writes the work sees then */
  async runFor<T>(key: RoutingKey, work: () => Promise<T>, { session }: RunForOptions = {}): Promise<T> {
    assertRoutingKey(key);
    const store: RoutingStore = { override: key, fixed: true, around: storage.getStore() };
    if (session !== undefined) this.#sessions?.admit(this.#marksIn(store), [session]);
    return storage.run(store, work);
  }

  /**
   * What the running work has written so far, and what its own session has brought, as a token for work elsewhere: a
   * later request (header `x-sharding-session`), `shards.runFor(key, work, { session })` in a job. Also for handlers that
   * write their response themselves: called before it, the response carries positions instead of a marker that sends
   * the next read to ask the primary.
   *
   * Undefined where nothing has to be carried, and without `read_your_writes = "session"`. Never rejects: where a primary
   * does not answer, the token says that its position is not known.
   */
  async sessionToken(): Promise<string | undefined> {
    const marks = this.causalMarks();
    await this.#sessions?.settle(marks);
    return this.#sessions?.token(marks);
  }

  causalMarks(): CausalMarks {
    const store = storage.getStore();
    return store ? this.#marksIn(store) : this.#contexts.outside;
  }

  /** The marks of a request, wherever it is asked for. */
  marksOf(request: object): CausalMarks {
    return this.#marksIn(storeOf(request));
  }

  routed(shard: string, request?: object): void {
    let store = request ? storeFor(request) : storage.getStore();
    while (store?.around) store = store.around;
    if (store) (store.trail ??= new ShardTrail()).add(shard);
  }

  /** Set once at boot: what carries marks from one request to the next. */
  useSessions(sessions: Sessions): void {
    this.#sessions = sessions;
  }

  /** Present where something can be carried. */
  get sessions(): Sessions | undefined {
    return this.#sessions?.active === true ? this.#sessions : undefined;
  }

  routingKey(request?: object): MaybePromise<RoutingKey> {
    const store = storeFor(request);
    store.tenancy ??= this.tenancy;
    if (request) this.#rejoin(store);
    return chain(store.override ?? tenantIn(store, request), (key) => {
      store.fixed = true;
      return store.override ?? key; // it may have been set in the meantime
    });
  }

  #marksIn(store: RoutingStore): CausalMarks {
    if (store.causal) return store.causal;
    if (store.around) return (store.causal = this.#marksIn(store.around));
    return (store.causal = store.request ? this.#contexts.request() : this.#contexts.work());
  }

  /** Where a library has lost the context, the marks of the request's work are among those of the work outside. */
  #rejoin(store: RoutingStore): void {
    if (!storage.getStore()) this.#marksIn(store).join(this.#contexts.outside);
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
