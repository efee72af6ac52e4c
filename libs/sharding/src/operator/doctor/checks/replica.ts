import { bytesBehind } from '../../../shards/reads/lsn.js';
import { check } from '../check.js';
import type { Verdict } from '../finding.js';
import type { ServerFacts } from '../server-facts.js';

type Facts = Pick<ServerFacts, 'recovering' | 'lsn' | 'ageMs' | 'receiving' | 'paused' | 'system'>;

export interface ReplicaCase {
  readonly target: string;
  /** 0: any lag will do for reads. */
  readonly maxLagMs: number;
  readonly replica: Facts;
  /** Undefined while it does not answer. */
  readonly primary: Pick<Facts, 'lsn' | 'system'> | undefined;
}

/** What is too much where the configuration allows any. */
const DEFAULT_MOST_MS = 10_000;

/** A replica follows its own primary, and closely. */
export const replica = check({
  name: 'replica',
  scope: 'target',
  judge: (_found, { servers }) => {
    const direct = servers.filter(({ way }) => way.name === 'url');
    return direct
      .filter(({ way: { place }, server }) => place.role === 'replica' && server.recovering)
      .flatMap(({ way: { place }, server }) =>
        replicaVerdicts({
          target: place.label,
          maxLagMs: place.maxLagMs,
          replica: server,
          primary: direct.find(({ way }) => `${way.place.label}:replica` === place.label)?.server,
        }),
      );
  },
});

export function replicaVerdicts(given: ReplicaCase): Verdict[] {
  const { target, primary, replica: own } = given;
  if (primary?.system !== undefined && own.system !== undefined && primary.system !== own.system) {
    return [
      {
        severity: 'error',
        target,
        reason: 'follows another server than the primary that is configured beside it',
        remedy: 'point replica_url at a replica of that primary, or build this one anew from it',
      },
    ];
  }
  const behind = bytesBehind(own.lsn, primary?.lsn);
  return [...halted(target, own), ...late(given, behind)];
}

function halted(target: string, { paused, receiving }: Facts): Verdict[] {
  if (paused) {
    return [
      {
        severity: 'warning',
        target,
        reason: 'applies nothing: its replay is paused',
        remedy: 'select pg_wal_replay_resume() on it',
      },
    ];
  }
  if (receiving) return [];
  return [
    {
      severity: 'warning',
      target,
      reason: 'is connected to no primary: it receives nothing by streaming',
      remedy: 'see primary_conninfo and the log of the replica, and that the primary lets it in',
    },
  ];
}

function late({ target, maxLagMs, replica: { ageMs } }: ReplicaCase, behind: number | undefined): Verdict[] {
  const most = maxLagMs === 0 ? DEFAULT_MOST_MS : maxLagMs;
  if (behind === 0 || ageMs === null || ageMs <= most) return [];
  if (behind === undefined && maxLagMs === 0) return []; // an idle primary looks the same
  const bytes = behind === undefined ? '' : `${behind} bytes and `;
  return [
    {
      severity: 'warning',
      target,
      reason: `is behind: ${bytes}${(ageMs / 1000).toFixed(1)} s; ${maxLagMs === 0 ? 'more than' : 'max_replica_lag_ms is'} ${most} ms`,
      remedy: 'see its load, its disk and its network, and queries on it that hold up the replay',
    },
  ];
}
