import { Inject, Logger, Module } from '@nestjs/common';
import { APP_FILTER, ModulesContainer } from '@nestjs/core';
import { ShardSelector } from '@app/routing';
import { configurationError } from './config/configuration-error.js';
import { loadShardingOptions } from './config/load-options.js';
import { layOver } from './config/overlay.js';
import { resolveOptions } from './config/resolve-options.js';
import { ControlPools, controlProviders } from './control.providers.js';
import { DirectoryConnection } from './directory/directory-connection.js';
import { Pins } from './directory/pins.js';
import { HEALTH_COMPONENTS } from './health-components.js';
import { healthPaths } from './health/health-paths.js';
import { metricsPaths } from './metrics/metrics-paths.js';
import { bootMigrations } from './migrations/boot-migrations.js';
import { movesProvider } from './moves.provider.js';
import { Moves } from './moves/moves.js';
import { optionalModules } from './optional-modules.js';
import { isProvided, placementProviders, SHARD_ROUTER } from './placement.providers.js';
import { CrossShardReads } from './repository/cross-shard-reads.js';
import { featureProviders } from './repository/feature.js';
import { EntityPlaces } from './repository/placed/entity-places.js';
import { IdempotencyInterceptor } from './request/idempotency/idempotency.interceptor.js';
import {
  CONTROL_DATA_SOURCE,
  CONTROL_READER,
  INJECTED_DATA_SOURCE,
  INJECTED_READER,
} from './request/inject-control.decorator.js';
import { RequestMount } from './request/request-mount.js';
import { RequiredTenantMiddleware } from './request/required-tenant.middleware.js';
import { RouteWatch } from './request/route-watch.js';
import { RoutingContext } from './request/routing-context.js';
import { Sessions } from './request/session/sessions.js';
import { ShardedDb, shardedDbProvider } from './request/sharded-db.js';
import { ShardingExceptionFilter } from './request/sharding-exception.filter.js';
import { Tenancy } from './request/tenancy.js';
import { ShardFacts } from './shard-facts.js';
import { Fleet } from './shards/fleet.js';
import { Shards } from './shards/shards.js';
import { guardSlotMap } from './slot-map/guard-slot-map.js';
import { SETTINGS } from './sharding.settings.js';
import { logTopology } from './topology-log.js';
import type {
  BeforeApplicationShutdown,
  DynamicModule,
  FactoryProvider,
  InjectionToken,
  MiddlewareConsumer,
  ModuleMetadata,
  NestModule,
  OnApplicationShutdown,
  OnModuleInit,
  Provider,
  Type,
} from '@nestjs/common';
import type { ShardRouter } from '@app/routing';
import type { PlacementSetup } from './placement.providers.js';
import type { Feature } from './repository/feature.js';
import type { ShardingSetup } from './optional-modules.js';
import type { ShardingOptions, ShardingOptionsFactory } from './sharding.options.js';
import type { ShardingSettings } from './sharding.settings.js';

/** `forRoot`: the options, with what Nest makes. */
export type ShardingRootOptions = Omit<ShardingOptions, 'router'> &
  ShardingSetup &
  PlacementSetup &
  Pick<ModuleMetadata, 'imports'>;

/** `forRootAsync`: exactly one of `useFactory`, `useClass` and `useExisting`. */
export interface ShardingAsyncOptions extends ShardingSetup, PlacementSetup, Pick<ModuleMetadata, 'imports'> {
  readonly useFactory?: (...parts: never[]) => ShardingOptions | Promise<ShardingOptions>;
  readonly inject?: InjectionToken[];
  readonly useClass?: Type<ShardingOptionsFactory>;
  readonly useExisting?: InjectionToken<ShardingOptionsFactory>;
}

/**
 * The entry of the library. Global, and imported once an application: a second `forRoot` is refused.
 *
 * Without `database` in the options, `sharding.toml` with its overlays and the environment is read and the options are
 * laid over it; with it, the options are all there is.
 */
@Module({})
export class ShardingModule
  implements NestModule, OnModuleInit, BeforeApplicationShutdown, OnApplicationShutdown
{
  @Inject(SETTINGS) private readonly settings!: ShardingSettings;
  @Inject(Fleet) private readonly fleet!: Fleet;
  @Inject(DirectoryConnection) private readonly directory!: DirectoryConnection;
  @Inject(RequestMount) private readonly requests!: RequestMount;
  @Inject(RouteWatch) private readonly routes!: RouteWatch;
  @Inject(ModulesContainer) private readonly modules!: ModulesContainer;

  /** @throws ShardingError `invalid_topology` at boot, listing every problem of the configuration */
  static forRoot(options: ShardingRootOptions = {}): DynamicModule {
    const { health, metrics, traces, router, shardSelector, imports, ...rest } = options;
    const given = isProvided(router) || router === undefined ? rest : { ...rest, router };
    const setup = { health, metrics, traces, router, shardSelector };
    return shardingModule(setup, [settingsProvider(() => given, [])], imports);
  }

  static forRootAsync(options: ShardingAsyncOptions): DynamicModule {
    return shardingModule(options, asyncProviders(options), options.imports);
  }

  /**
   * Provides a `ShardedRepository` for each entity with `@ShardedEntity`, a `PlacedRepository` where it has a strategy,
   * and each repository class of your own.
   *
   * @throws ShardingError `invalid_topology` at boot for an entity without a tenant column or a strategy
   */
  static forFeature(features: readonly Feature[]): DynamicModule {
    const providers = featureProviders(features);
    return {
      module: class ShardingFeatureModule {},
      providers,
      exports: providers.map(({ provide }) => provide),
    };
  }

  configure(consumer: MiddlewareConsumer): void {
    this.requests.mount(consumer, this.settings);
    this.routes.mount();
  }

  async onModuleInit(): Promise<void> {
    const instances = [...this.modules.values()].filter(({ metatype }) => metatype === ShardingModule);
    if (instances.length > 1) {
      throw configurationError(['ShardingModule.forRoot() is imported twice: import it once, it is global']);
    }
    logTopology(this.settings, this.fleet.totalMaxConnections, new Logger(ShardingModule.name));
    const warn = (line: string) => new Logger(ShardingModule.name).warn(line);
    try {
      await this.migrations(warn);
      await guardSlotMap({ settings: this.settings, control: this.fleet.control?.database, warn });
      await this.directory.start();
      await this.fleet.start();
    } catch (error) {
      await this.onApplicationShutdown().catch(() => undefined); // a boot that fails calls no other hook
      throw error;
    }
    this.fleet.checkBudget(warn);
  }

  private migrations(warn: (line: string) => void): Promise<void> {
    const { fleet, settings } = this;
    const log = (line: string) => new Logger(ShardingModule.name).log(line);
    return bootMigrations({ settings, databasesOf: (target) => fleet.databasesOf(target), log, warn });
  }

  /** HTTP closes next and waits for its requests: not longer than the drain. */
  beforeApplicationShutdown(): void {
    this.fleet.beginDrain();
  }

  /** After HTTP has closed: drains and closes every database. */
  async onApplicationShutdown(): Promise<void> {
    await this.directory.stop();
    await this.fleet.close();
  }
}

const EXPORTS = [
  Shards,
  ShardedDb,
  RoutingContext,
  CONTROL_DATA_SOURCE,
  CONTROL_READER,
  ControlPools,
  INJECTED_DATA_SOURCE,
  INJECTED_READER,
  Fleet,
  CrossShardReads,
  EntityPlaces,
  DirectoryConnection,
  Pins,
  Moves,
  ShardSelector,
  ShardFacts,
  HEALTH_COMPONENTS,
];

function shardingModule(
  setup: ShardingSetup & PlacementSetup,
  settings: Provider[],
  imports: ModuleMetadata['imports'] = [],
): DynamicModule {
  return {
    module: ShardingModule,
    global: true,
    imports: [...imports, ...optionalModules(setup)],
    providers: [
      ...settings,
      ShardFacts,
      ...placementProviders(setup),
      ...runtimeProviders(mountedPaths(setup)),
    ],
    exports: EXPORTS,
  };
}

/** A closure keeps what the user wrote: a provider value with passwords in it could be printed with the container. */
function settingsProvider(
  optionsOf: (...parts: never[]) => ShardingOptions | Promise<ShardingOptions>,
  inject: InjectionToken[],
): FactoryProvider<ShardingSettings> {
  return {
    provide: SETTINGS,
    inject,
    useFactory: async (...parts: unknown[]) => {
      const options = (await optionsOf(...(parts as never[]))) as ShardingOptions | undefined;
      if (!options) throw configurationError(['the options factory returned nothing']);
      if (options.database !== undefined) return resolveOptions(options, 'code');
      return resolveOptions(layOver({ ...loadShardingOptions() }, { ...options }), 'toml');
    },
  };
}

function asyncProviders({
  useFactory,
  inject = [],
  useClass,
  useExisting,
}: ShardingAsyncOptions): Provider[] {
  if (useFactory) return [settingsProvider(useFactory, inject)];
  const token = useExisting ?? useClass;
  if (token === undefined)
    throw configurationError(['forRootAsync needs useFactory, useClass or useExisting']);
  return [
    settingsProvider((factory: ShardingOptionsFactory) => factory.createShardingOptions(), [token]),
    ...(useClass ? [useClass] : []),
  ];
}

/** They need no tenant. */
function mountedPaths({ health, metrics }: ShardingSetup): string[] {
  const { readiness, liveness } = health === false ? { readiness: [], liveness: [] } : healthPaths(health);
  const { prometheus, json } = metricsPaths(metrics === false ? {} : metrics);
  return [...readiness, ...liveness, ...(metrics === false ? [] : [prometheus, json])];
}

const REQUEST_PROVIDERS: Provider[] = [
  RoutingContext,
  RouteWatch,
  RequestMount,
  IdempotencyInterceptor,
  RequiredTenantMiddleware,
  shardedDbProvider,
  { provide: APP_FILTER, useClass: ShardingExceptionFilter },
];

function runtimeProviders(openPaths: readonly string[]): Provider[] {
  return [
    ...REQUEST_PROVIDERS,
    {
      provide: Fleet,
      inject: [SETTINGS, RoutingContext],
      useFactory: createFleet,
    },
    {
      provide: Tenancy,
      inject: [SETTINGS],
      useFactory: (settings: ShardingSettings) => new Tenancy(settings.tenancy, openPaths),
    },
    {
      provide: Shards,
      inject: [SETTINGS, Fleet, RoutingContext, SHARD_ROUTER, DirectoryConnection],
      useFactory: (...parts: [ShardingSettings, Fleet, RoutingContext, ShardRouter, DirectoryConnection]) => {
        const [{ topology, groupOf }, { shards }, keys, router, directory] = parts;
        const holdMoves = () => directory.holdMoves();
        return new Shards({ topology, groupOf, shards, router, keys, holdMoves });
      },
    },
    {
      provide: CrossShardReads,
      inject: [SETTINGS, Shards, Fleet],
      useFactory: ({ crossShard }: ShardingSettings, shards: Shards, { telemetry }: Fleet) =>
        CrossShardReads.create(crossShard, shards, telemetry),
    },
    {
      provide: EntityPlaces,
      inject: [Fleet, Shards],
      useFactory: (fleet: Fleet, shards: Shards) => new EntityPlaces(fleet, shards),
    },
    movesProvider,
    ...controlProviders(),
  ];
}

async function createFleet(settings: ShardingSettings, context: RoutingContext): Promise<Fleet> {
  const fleet = await Fleet.create(settings, context);
  context.useSessions(Sessions.create(settings.reads, fleet.reads));
  return fleet;
}
