import { judgePin, type PinProblem } from '../../../directory/judge-pin.js';
import { readDirectory, type DirectoryFacts, type PinGroup } from '../directory-facts.js';
import { check } from '../check.js';
import type { Topology } from '@app/routing';
import type { Severity, Verdict } from '../finding.js';

/** The directory can be obeyed, and every process does. */
export const directory = check<DirectoryFacts | undefined>({
  name: 'directory',
  scope: 'deployment',
  read: (place, look) => (place.isControl && place.role === 'primary' ? readDirectory(look) : undefined),
  judge: (found, { settings }) =>
    found.flatMap(({ place, facts }) =>
      facts
        ? directoryVerdicts(place.label, facts, {
            topology: settings.topology,
            obeyed: settings.directory.enabled,
          })
        : [],
    ),
});

interface Rules {
  readonly topology: Topology;
  /** Whether the configuration routes by it. */
  readonly obeyed: boolean;
}

export function directoryVerdicts(target: string, facts: DirectoryFacts, rules: Rules): Verdict[] {
  const rows = facts.pins.reduce((sum, { count }) => sum + count, 0);
  if (!rules.obeyed) return rows === 0 ? [] : [unobeyed(target, rows)];
  return [
    ...(facts.revision === undefined ? [noRevision(target)] : []),
    ...facts.silenced.map((trigger) => silenced(target, trigger)),
    ...facts.pins.flatMap((pins) => pinVerdict(target, pins, rules.topology) ?? []),
    ...facts.behind.map(({ name, revision, wanted }): Verdict => ({
      severity: 'warning',
      target,
      reason: `the process ${name} lives and routes by revision ${revision} of the directory, which was at ${wanted} a second ago`,
      remedy: 'see its log and its way to the control database; it catches up by itself, else restart it',
    })),
  ];
}

const MEANING: Record<PinProblem, { severity: Severity; says: string }> = {
  unknown_shard: { severity: 'error', says: 'which is not configured: their requests are refused' },
  unknown_group: { severity: 'error', says: 'which has no shards: their requests are refused' },
  outside_group: { severity: 'warning', says: 'outside of the group of the key: the rows are ignored' },
};

function pinVerdict(target: string, pins: PinGroup, topology: Topology): Verdict | undefined {
  const { shard, group, count, keys } = pins;
  const { problem } = judgePin({ shard, group }, undefined, topology);
  if (problem === undefined) return undefined;
  const { severity, says } = MEANING[problem];
  const place =
    problem === 'unknown_group' || shard === undefined ? `group ${group}` : `shard ${JSON.stringify(shard)}`;
  const named = keys.map((key) => JSON.stringify(key)).join(', ');
  const rows = count === 1 ? '1 row names' : `${count} rows name`;
  return {
    severity,
    target,
    reason: `${rows} ${place}, ${says} (${named}${count > keys.length ? ', ...' : ''})`,
    remedy: 'pin the keys to a shard of their group, or take the rows away (shardctl pin, unpin)',
  };
}

function unobeyed(target: string, rows: number): Verdict {
  return {
    severity: 'info',
    target,
    reason: `the directory has ${rows} ${rows === 1 ? 'row' : 'rows'}, and directory_shard_router is off: nobody obeys ${rows === 1 ? 'it' : 'them'} unless a router in code does`,
    remedy: 'set directory_shard_router = true, or take the rows away',
  };
}

function noRevision(target: string): Verdict {
  return {
    severity: 'error',
    target,
    reason: 'the row of _sharding_revision is missing: no process can read the directory',
    remedy: 'insert into _sharding_revision (revision) values (a number above all that processes have seen)',
  };
}

function silenced(target: string, trigger: string): Verdict {
  return {
    severity: 'error',
    target,
    reason: `the trigger ${trigger} of _sharding_directory is off: processes do not learn of changes`,
    remedy: `alter table _sharding_directory enable trigger ${trigger}`,
  };
}
