import { HashRouter } from '@app/routing';
import { EntityPlaces } from './repository/placed/entity-places.js';
import { RoutingContext } from './request/routing-context.js';
import { Tenancy } from './request/tenancy.js';
import { Fleet } from './shards/fleet.js';
import { Shards } from './shards/shards.js';
import type { ShardingSettings } from './sharding.settings.js';

/** What says where rows live, without an application. */
export interface OfflinePlaces {
  readonly places: EntityPlaces;
  readonly shards: Shards;
  readonly context: RoutingContext;
}

/** Where entities live by a configuration alone, for tests: keys are hashed, no pin is known, and nothing is opened. */
export async function offlinePlaces(settings: ShardingSettings): Promise<OfflinePlaces> {
  const { topology, groupOf } = settings;
  const context = new RoutingContext(new Tenancy(settings.tenancy, []));
  const fleet = await Fleet.create(settings, context);
  const router = settings.router ?? new HashRouter();
  const shards = new Shards({ topology, groupOf, shards: fleet.shards, router, keys: context });
  return { places: new EntityPlaces(fleet, shards), shards, context };
}
