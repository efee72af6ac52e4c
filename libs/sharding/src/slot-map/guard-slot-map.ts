import { ShardingError } from '@app/routing';
import { failureCode, failureReason, unavailable } from '../shards/database-failure.js';
import { judgeSlotMap, type MapVerdict } from './judge-slot-map.js';
import { allVersions, lockMap, newestVersion, recordVersion, verifiedMoves } from './map-store.js';
import { mappedShards, type MappedShard } from './mapped-shard.js';
import { noSlotMap } from './no-slot-map.js';
import type pg from 'pg';
import type { Database } from '../shards/database.js';
import type { SlotMapGuard } from '../sharding.options.js';
import type { ShardingSettings } from '../sharding.settings.js';

export interface SlotMapGuardParts {
  readonly settings: Pick<ShardingSettings, 'topology' | 'unsharded' | 'slotMapGuard' | 'control'>;
  /** The primary of the control database, opened or not; its pool is not used. */
  readonly control: Database | undefined;
  readonly warn: (line: string) => void;
}

/** Bounds connecting and waiting for others that boot where the settings name no bound. */
const DEFAULT_CONNECT_MS = 5000;

/**
 * Compares the slot map with the one that the control database remembers, and remembers it when it is new. To be called
 * once at boot, before the first key is routed.
 *
 * @throws ShardingError `slot_map_changed` when the map must not be used; `migrations_pending` and `shard_unavailable`
 * when it cannot be compared although the automatic split, or a strict guard, depends on it
 */
export async function guardSlotMap({ settings, control, warn }: SlotMapGuardParts): Promise<void> {
  const { topology, unsharded, slotMapGuard } = settings;
  if (unsharded) return;
  if (!control) {
    if (topology.autoSplit) warn(NOBODY_REMEMBERS);
    return;
  }
  const isNeeded = topology.autoSplit || slotMapGuard === 'strict';
  const connectMs = settings.control?.connectTimeoutMs ?? DEFAULT_CONNECT_MS;
  const limitMs = isNeeded ? 2 * connectMs : connectMs;
  const boot = { current: mappedShards(topology), guard: slotMapGuard, limitMs };
  let verdict: MapVerdict;
  try {
    verdict = await control.dedicated('slot-map', limitMs, (client) => settle(client, boot));
  } catch (cause) {
    if (isNeeded) throw notCompared(control, cause);
    warn(`the slot map was not compared: ${control.label} ${reasonOf(cause)}`);
    return;
  }
  if (verdict.outcome === 'refuse') throw new ShardingError('slot_map_changed', verdict.reason);
  if (verdict.outcome === 'record' && verdict.warning !== undefined) warn(verdict.warning);
}

const NOBODY_REMEMBERS =
  'the slots follow from the number and order of the shards, and without a control database nobody notices when these change: declare the slots of each shard';

interface Boot {
  readonly current: readonly MappedShard[];
  readonly guard: SlotMapGuard;
  readonly limitMs: number;
}

/** Most boots change nothing, and wait for nobody. Ending the connection rolls back. */
async function settle(client: pg.Client, boot: Boot): Promise<MapVerdict> {
  const { current, guard, limitMs } = boot;
  const known = await newestVersion(client);
  const first = judgeSlotMap({ versions: known ? [known] : [], moves: [], current, guard });
  if (first.outcome === 'unchanged') return first;
  await client.query('begin isolation level read committed');
  await lockMap(client, limitMs);
  const versions = await allVersions(client); // somebody may have been faster
  const moves = versions.length > 0 ? await verifiedMoves(client) : [];
  const verdict = judgeSlotMap({ versions, moves, current, guard });
  if (verdict.outcome === 'record') await recordVersion(client, verdict.version, current);
  await client.query('commit');
  return verdict;
}

function notCompared(control: Database, cause: unknown): ShardingError {
  const why = `${reasonOf(cause)}. The automatic split and slot_map_guard = "strict" need it`;
  if (noSlotMap(failureCode(cause))?.code !== 'migrations_pending') {
    return unavailable(control.label, why, cause);
  }
  return new ShardingError('migrations_pending', `the control database ${why}`, { cause });
}

/** What the control database does. */
function reasonOf(cause: unknown): string {
  return (
    noSlotMap(failureCode(cause))?.reason ?? `cannot be asked for its slot map (${failureReason(cause)})`
  );
}
