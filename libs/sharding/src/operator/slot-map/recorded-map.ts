import { ShardingError, type Topology } from '@app/routing';
import { readOnly } from '../../shards/read-only.js';
import {
  allVersions,
  lockMap,
  newestVersion,
  recordVersion,
  verifiedMoves,
} from '../../slot-map/map-store.js';
import { mappedShards } from '../../slot-map/mapped-shard.js';
import { historyOf, isUnchanged, mapChanges, type MapChanges, type RecordedMap } from './map-changes.js';
import type pg from 'pg';

/** Every slot map that is recorded, newest first. In one read-only transaction. @throws the driver's error */
export async function recordedMaps(client: pg.Client): Promise<RecordedMap[]> {
  const { versions, moves } = await readMaps(client);
  return historyOf(versions, moves);
}

/** How the configured slot map differs from the newest recorded one. */
export interface ProposedMap {
  /** 0: none is recorded. */
  readonly newest: number;
  readonly changes: MapChanges;
  readonly unchanged: boolean;
}

/** Reads only. @throws the driver's error */
export async function proposedMap(client: pg.Client, topology: Topology): Promise<ProposedMap> {
  const { versions, moves } = await readMaps(client);
  const changes = mapChanges({ versions, moves, current: mappedShards(topology) });
  return { newest: versions[0]?.version ?? 0, changes, unchanged: isUnchanged(changes) };
}

export interface AcceptOptions {
  /** The newest version that was looked at before: {@link ProposedMap.newest}. */
  readonly seen: number;
  /** Of the wait for others that record a version. */
  readonly limitMs: number;
}

/**
 * Records the configured slot map as the newest version, whatever has changed: whoever calls has looked at it.
 *
 * @returns the number of the version
 * @throws ShardingError `slot_map_changed` when another version was recorded since; the driver's error
 */
export async function acceptMap(
  client: pg.Client,
  topology: Topology,
  { seen, limitMs }: AcceptOptions,
): Promise<number> {
  await client.query('begin isolation level read committed');
  await lockMap(client, limitMs);
  const newest = (await newestVersion(client))?.version ?? 0;
  if (newest !== seen) {
    throw new ShardingError(
      'slot_map_changed',
      `version ${newest} was recorded meanwhile; look again at what changed`,
    );
  }
  await recordVersion(client, newest + 1, mappedShards(topology));
  await client.query('commit');
  return newest + 1;
}

function readMaps(client: pg.Client) {
  return readOnly(client, async () => {
    const versions = await allVersions(client);
    return { versions, moves: versions.length > 0 ? await verifiedMoves(client) : [] };
  });
}
