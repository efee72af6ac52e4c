import { judgeSlotMap, type MapVerdict } from '../../../slot-map/judge-slot-map.js';
import { allVersions, verifiedMoves } from '../../../slot-map/map-store.js';
import { mappedShards, type MapVersion, type VerifiedMove } from '../../../slot-map/mapped-shard.js';
import { hasTable } from '../catalog/has-table.js';
import { check } from '../check.js';
import type { Verdict } from '../finding.js';
import type { Read } from '../look.js';

interface RecordedMap {
  readonly versions: MapVersion[];
  readonly moves: VerifiedMove[];
}

/** The slot map of the configuration is the one that rows were placed by. */
export const slotMap = check<RecordedMap | undefined>({
  name: 'slot-map',
  scope: 'deployment',
  read: (place, look, { settings }) =>
    place.isControl && place.role === 'primary' && !settings.unsharded ? look.read(recorded) : undefined,
  judge: (found, { settings }) => {
    const { topology, slotMapGuard, control } = settings;
    if (!control) return topology.autoSplit ? [nobodyRemembers()] : [];
    const [facts] = found.map((one) => one.facts);
    if (!facts) return []; // no answer, or no table: that is told elsewhere
    return slotMapVerdicts(judgeSlotMap({ ...facts, current: mappedShards(topology), guard: slotMapGuard }));
  },
});

const recorded: Read<RecordedMap | undefined> = async (client) => {
  if (!(await hasTable(client, '_sharding_map'))) return undefined;
  return { versions: await allVersions(client), moves: await verifiedMoves(client) };
};

export function slotMapVerdicts(verdict: MapVerdict): Verdict[] {
  const target = 'control';
  if (verdict.outcome === 'unchanged') return [];
  if (verdict.outcome === 'refuse') {
    return [
      {
        severity: 'error',
        target,
        reason: verdict.reason,
        remedy: 'no process boots with this configuration: do as the reason says before you deploy it',
      },
    ];
  }
  if (verdict.warning !== undefined) {
    return [
      {
        severity: 'warning',
        target,
        reason: verdict.warning,
        remedy: 'do as the reason says before the next boot, which takes the new map for granted',
      },
    ];
  }
  const what = verdict.version === 1 ? 'remembers no slot map yet' : 'does not remember this slot map yet';
  return [
    {
      severity: 'info',
      target,
      reason: `${what}: the next boot records it as version ${verdict.version}`,
      remedy: 'nothing',
    },
  ];
}

function nobodyRemembers(): Verdict {
  return {
    severity: 'warning',
    target: 'configuration',
    reason:
      'the slots follow from the number and order of the shards, and without a control database nobody notices when these change',
    remedy: 'declare the slots of each shard',
  };
}
