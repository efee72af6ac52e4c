import { HashRouter, ShardSelector } from '@app/routing';
import { DirectoryConnection } from './directory/directory-connection.js';
import { directoryHealth } from './directory/directory-health.js';
import { DirectoryRouter } from './directory/directory-router.js';
import { Pins } from './directory/pins.js';
import { HEALTH_COMPONENTS } from './health-components.js';
import { Fleet } from './shards/fleet.js';
import { SETTINGS } from './sharding.settings.js';
import type { FactoryProvider, InjectionToken, Provider, Type } from '@nestjs/common';
import type { ShardRouter } from '@app/routing';
import type { HealthComponent } from './health-components.js';
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
  /** Maps what is known of a new customer to a group, for `Pins.place(key, { attributes })`. */
  readonly shardSelector?: ShardSelector<unknown> | Provided<ShardSelector<unknown>> | undefined;
}

/** Token of the router in use. */
export const SHARD_ROUTER = Symbol.for('nestjs-sharding.shard-router');

/** Whether the router is to be made by Nest, rather than given in the options. */
export function isProvided<T extends object>(given: T | Provided<T> | undefined): given is Provided<T> {
  return given !== undefined && ('useClass' in given || 'useExisting' in given || 'useFactory' in given);
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
    isProvided(router) ? provided(SHARD_ROUTER, router) : defaultRouter(),
    selectorProvider(shardSelector),
    {
      provide: Pins,
      inject: [DirectoryConnection, Fleet, ShardSelector],
      useFactory: (
        connection: DirectoryConnection,
        { control }: Fleet,
        selector: ShardSelector<unknown> | undefined,
      ) => new Pins({ control, connection, selector }),
    },
    {
      provide: HEALTH_COMPONENTS,
      inject: [DirectoryConnection, SHARD_ROUTER], // the router has opened its directory by then
      useFactory: ({ opened }: DirectoryConnection): HealthComponent[] => directoryHealth(opened),
    },
  ];
}

function defaultRouter(): FactoryProvider<ShardRouter> {
  return {
    provide: SHARD_ROUTER,
    inject: [SETTINGS, DirectoryConnection],
    useFactory: ({ router, directory }: ShardingSettings, connection: DirectoryConnection) =>
      router ?? (directory.enabled ? new DirectoryRouter(connection) : new HashRouter()),
  };
}

function selectorProvider(selector: PlacementSetup['shardSelector']): Provider {
  if (isProvided(selector)) return provided(ShardSelector, selector);
  return { provide: ShardSelector, useFactory: () => selector };
}

function provided<T>(provide: InjectionToken<T>, provider: Provided<T>): Provider {
  return { provide, ...provider } as Provider;
}
