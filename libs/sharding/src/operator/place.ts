import { ShardingError } from '@app/routing';
import type { Secret } from '../secret.js';
import type { DatabaseSettings, ShardingSettings } from '../sharding.settings.js';

/** One database server role of the deployment. */
export interface Place {
  /** The target, `control` or `shard:<name>`; a replica's has `:replica` behind it. */
  readonly label: string;
  readonly role: 'primary' | 'replica';
  /** The control database; without shards it is the only shard as well. */
  readonly isControl: boolean;
  /** Undefined for the control database. */
  readonly shard: string | undefined;
  readonly settings: DatabaseSettings;
  /** Of a replica; 0: any will do. */
  readonly maxLagMs: number;
}

/** A URL of a place. */
export interface Way {
  readonly place: Place;
  readonly name: 'url' | 'maintenance_url';
  readonly url: Secret;
}

/** A shard by its primary. */
export interface ShardPlace extends Place {
  readonly shard: string;
}

/**
 * Control first, then the shards in declaration order; a replica behind its primary.
 *
 * @param shard this one only
 * @throws ShardingError `unknown_shard`
 */
export function placesOf(settings: ShardingSettings, shard?: string): Place[] {
  const { control, controlReplica, shards, unsharded } = settings;
  if (shard !== undefined) settings.topology.byName(shard);
  const owners = [
    ...(control && !unsharded && shard === undefined
      ? [{ name: undefined, primary: control, replica: controlReplica }]
      : []),
    ...shards.filter(({ name }) => shard === undefined || name === shard),
  ];
  return owners.flatMap(({ name, primary, replica }) => {
    const owner = { isControl: name === undefined || unsharded, shard: name };
    return [
      { ...owner, label: primary.target, role: 'primary' as const, settings: primary, maxLagMs: 0 },
      ...(replica
        ? [
            {
              ...owner,
              label: `${primary.target}:replica`,
              role: 'replica' as const,
              settings: replica.database,
              maxLagMs: replica.maxLagMs,
            },
          ]
        : []),
    ];
  });
}

/** The primaries of all shards, or of one. @throws ShardingError `unknown_shard` */
export function shardPlaces(settings: ShardingSettings, shard?: string): ShardPlace[] {
  return placesOf(settings, shard).filter(isShard);
}

function isShard(place: Place): place is ShardPlace {
  return place.role === 'primary' && place.shard !== undefined;
}

/** The primary of the control database. @throws ShardingError `invalid_topology` where there is none */
export function controlPlace(settings: ShardingSettings): Place {
  const place = placesOf(settings).find(({ isControl, role }) => isControl && role === 'primary');
  if (place && settings.control) return place;
  throw new ShardingError(
    'invalid_topology',
    'this needs a control database: set [database] primary_url, or SHARDING_DATABASE__PRIMARY_URL',
  );
}

/** The way of the application first. */
export function waysOf(place: Place): Way[] {
  const { url, maintenanceUrl } = place.settings;
  return [
    { place, name: 'url', url },
    ...(maintenanceUrl ? [{ place, name: 'maintenance_url' as const, url: maintenanceUrl }] : []),
  ];
}

/** Around a pooler where the configuration knows a way. */
export function directWay(place: Place): Way {
  const { url, maintenanceUrl } = place.settings;
  return maintenanceUrl
    ? { place, name: 'maintenance_url', url: maintenanceUrl }
    : { place, name: 'url', url };
}
