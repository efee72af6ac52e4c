import { Scope } from '@nestjs/common';
import { HashRouter, ShardSelector } from '@app/routing';
import { DirectoryConnection } from './directory/directory-connection.js';
import { directoryHealth } from './directory/directory-health.js';
import { DirectoryRouter } from './directory/directory-router.js';
import { configurationError } from './config/configuration-error.js';
import { Pins } from './directory/pins.js';
import { HEALTH_COMPONENTS } from './health-components.js';
import { Fleet } from './shards/fleet.js';
import { SETTINGS } from './sharding.settings.js';
import type { FactoryProvider, InjectionToken, Provider, Type } from '@nestjs/common';
import type { ShardRouter } from '@app/routing';
import type { HealthComponents } from './health-components.js';
import type { ShardingSettings } from './sharding.settings.js';

/** A provider without its token, as Nest takes it. */
export type Provided<T> =
  | { readonly useClass: Type<T> }
  | { readonly useExisting: InjectionToken<T> }
  | {
      readonly useFactory: (...parts: never[]) => T | Promise<T>;
      readonly inject?: InjectionToken[];
    };

/** What decides where rows live and is made by Nest. */
export interface PlacementSetup {
  /**
   * Chooses the shard of a key: `{ useClass }`, `{ useFactory, inject }` or `{ useExisting }`; inject `DirectoryConnection` for a
   * `DirectoryRouter` of your own. It wins over `directoryShardRouter`.
   */
  readonly router?: ShardRouter | Provided<ShardRouter> | undefined;
  /**
   * Maps what is known of a new customer to a group, for `Pins.place(key, { attributes })`. `@Inject(ShardSelector)` gives it to
   * whoever makes ids of its `identifierOf`.
   */
  readonly shardSelector?: ShardSelector<unknown> | Provided<ShardSelector<unknown>> | undefined;
}

/** Token of the router in use. */
export const SHARD_ROUTER = Symbol.for('nestjs-sharding.shard-router');

/** What the user's provider of it makes. */
const PROVIDED_ROUTER = Symbol.for('nestjs-sharding.provided-router');
const PROVIDED_SELECTOR = Symbol.for('nestjs-sharding.provided-selector');
/** The selector, undefined where there is none. */
const SELECTOR = Symbol.for('nestjs-sharding.selector');

/** Whether it is to be made by Nest, rather than given in the options. */
export function isProvided<T extends object>(given: T | Provided<T> | undefined): given is Provided<T> {
  if (typeof given !== 'object' || given === null) return false;
  return 'useClass' in given || 'useExisting' in given || 'useFactory' in given;
}

/** The router, the directory behind it, and what writes and watches it. */
export function placementProviders({ router, shardSelector }: PlacementSetup): Provider[] {
  return [
    {
      provide: DirectoryConnection,
      inject: [SETTINGS, Fleet],
      useFactory: ({ directory, topology, groupOf }: ShardingSettings, { control }: Fleet) =>
        new DirectoryConnection(control?.database, directory, { topology, groupOf }),
    },
    ...(isProvided(router) ? routerOfUser(router) : [defaultRouter(router)]),
    ...selectorProviders(shardSelector),
    {
      provide: Pins,
      inject: [DirectoryConnection, Fleet, SELECTOR],
      useFactory: (
        connection: DirectoryConnection,
        { control }: Fleet,
        selector: ShardSelector<unknown> | undefined,
      ) => new Pins({ control, connection, selector }),
    },
    {
      provide: HEALTH_COMPONENTS,
      inject: [DirectoryConnection],
      useFactory:
        (connection: DirectoryConnection): HealthComponents =>
        () =>
          directoryHealth(connection.opened),
    },
  ];
}

function routerOfUser(router: Provided<ShardRouter>): Provider[] {
  return [
    provided(PROVIDED_ROUTER, router),
    { provide: SHARD_ROUTER, inject: [PROVIDED_ROUTER], useFactory: checkedRouter },
  ];
}

/** @param given in the options of `forRootAsync`, beside its factory */
function defaultRouter(given: ShardRouter | undefined): FactoryProvider<ShardRouter> {
  return {
    provide: SHARD_ROUTER,
    inject: [SETTINGS, DirectoryConnection],
    useFactory: ({ router = given, directory }: ShardingSettings, connection: DirectoryConnection) => {
      if (router) return checkedRouter(router);
      return directory.enabled ? new DirectoryRouter(connection) : new HashRouter();
    },
  };
}

function selectorProviders(selector: PlacementSetup['shardSelector']): Provider[] {
  if (!selector) return [{ provide: SELECTOR, useFactory: () => undefined }, NO_SELECTOR];
  const given = isProvided(selector)
    ? provided(PROVIDED_SELECTOR, selector)
    : { provide: PROVIDED_SELECTOR, useValue: selector };
  return [
    given,
    { provide: ShardSelector, inject: [PROVIDED_SELECTOR], useFactory: checkedSelector },
    { provide: SELECTOR, useExisting: ShardSelector },
  ];
}

/** Fails the boot of whoever injects what is not there: transient, so that it is made for nobody else. */
const NO_SELECTOR: Provider = {
  provide: ShardSelector,
  scope: Scope.TRANSIENT,
  useFactory: () => {
    throw configurationError(['@Inject(ShardSelector) needs one: give forRoot({ shardSelector })']);
  },
};

function provided<T>(provide: InjectionToken<T>, provider: Provided<T>): Provider {
  return { provide, ...provider } as Provider;
}

function checkedRouter(router: ShardRouter): ShardRouter {
  if (typeof (router as Partial<ShardRouter> | undefined)?.route === 'function') return router;
  throw configurationError(['router: must be a ShardRouter, an object with route(key, topology)']);
}

function checkedSelector(selector: ShardSelector<unknown>): ShardSelector<unknown> {
  if (typeof (selector as Partial<ShardSelector<unknown>> | undefined)?.groupOf === 'function')
    return selector;
  throw configurationError(['shardSelector: must be a ShardSelector, an object with groupOf(attributes)']);
}
