import { ShardingError } from '@app/routing';
import type { DatabaseSettings, ShardingSettings } from '@app/sharding/config';

/** One database server role that can be asked. */
export interface Target {
  /** `control` or `shard:<name>`. */
  readonly target: string;
  readonly role: 'primary' | 'replica';
  readonly settings: DatabaseSettings;
}

/** A shard by its primary. */
export interface ShardTarget extends Target {
  readonly shard: string;
}

/** Control first, then the shards in declaration order; a replica behind its primary. */
export function allTargets({ control, controlReplica, shards, unsharded }: ShardingSettings): Target[] {
  const places = [
    ...(control && !unsharded ? [{ primary: control, replica: controlReplica }] : []),
    ...shards.map(({ primary, replica }) => ({ primary, replica })),
  ];
  return places.flatMap(({ primary, replica }) => [
    targetOf(primary),
    ...(replica ? [targetOf(replica.database)] : []),
  ]);
}

/** @throws ShardingError `unknown_shard` */
export function targetsOfShard(settings: ShardingSettings, shard: string): Target[] {
  const { name } = settings.topology.byName(shard);
  return allTargets(settings).filter(({ target }) => target === `shard:${name}`);
}

/** The primaries of all shards, or of one. @throws ShardingError `unknown_shard` */
export function shardTargets(settings: ShardingSettings, shard?: string): ShardTarget[] {
  if (shard !== undefined) settings.topology.byName(shard);
  return settings.shards
    .filter(({ name }) => shard === undefined || name === shard)
    .map(({ name, primary }) => ({ ...targetOf(primary), shard: name }));
}

/** @throws ShardingError `invalid_topology` */
export function controlTarget({ control }: ShardingSettings): Target {
  if (control) return targetOf(control);
  throw new ShardingError(
    'invalid_topology',
    'this needs a control database: set [database] primary_url, or SHARDING_DATABASE__PRIMARY_URL',
  );
}

function targetOf(settings: DatabaseSettings): Target {
  return { target: settings.target, role: settings.role, settings };
}
