import { ShardingError, type Topology } from '@app/routing';
import type { AuditFinding } from './audit-finding.js';
import type { KeyKind } from '../move-request.js';

/** What is to be looked at; all have defaults. */
export interface AuditRequest {
  /** Names of shards. Default: all. */
  readonly shards?: readonly string[];
  /** How many of the keys, above 0 to 100; every shard looks at the same ones. Default 100. */
  readonly samplePercent?: number;
  /** Default `tenant_id`. */
  readonly keyColumn?: string;
  /** Default `text`. */
  readonly keyKind?: KeyKind;
  /** Keys per second; default: no limit. */
  readonly throttle?: number;
  /** The cursor of an earlier report: goes on behind it. */
  readonly after?: string;
}

/** Where an audit is. */
export interface AuditProgress {
  readonly shard: string;
  readonly table: string;
  /** Of this call, in all tables. */
  readonly keys: number;
  /** For `after`, should this call be the last one. */
  readonly cursor: string;
}

export interface AuditOptions {
  /** Ends the audit with a report of what was looked at, which can be gone on with. */
  readonly signal?: AbortSignal;
  /** After each thousand keys. */
  readonly progress?: (progress: AuditProgress) => void;
}

/** A request, complete and checked. */
export interface AuditTerms {
  readonly shards: readonly string[];
  readonly samplePercent: number;
  readonly keyColumn: string;
  readonly keyKind: KeyKind;
  readonly throttle: number | undefined;
}

/** What an audit has found; nothing was changed. */
export interface AuditReport extends Omit<AuditTerms, 'throttle'> {
  /** Everything was looked at that was asked for, as far as it can be reached. */
  readonly complete: boolean;
  /** For `after`; undefined where it is complete. */
  readonly cursor: string | undefined;
  /** Looked at: a key counts once for each table. */
  readonly keys: number;
  /** How many there are of each kind. */
  readonly counts: Readonly<Record<AuditFinding['kind'], number>>;
  /** In the order of shards, tables and keys; the first {@link MAX_FINDINGS} of them. */
  readonly findings: readonly AuditFinding[];
}

/** As many are kept; all are counted. */
export const MAX_FINDINGS = 1000;

/** @throws ShardingError `invalid_options`, `unknown_shard` */
export function auditTerms(request: AuditRequest, topology: Topology): AuditTerms {
  const { shards, samplePercent = 100, keyColumn = 'tenant_id', keyKind = 'text', throttle } = request;
  if (!(samplePercent > 0 && samplePercent <= 100)) {
    throw new ShardingError('invalid_options', 'samplePercent is above 0 and at most 100');
  }
  if (throttle !== undefined && !(throttle > 0)) {
    throw new ShardingError('invalid_options', 'throttle is a number of keys per second above 0');
  }
  const all = topology.shards.map(({ name }) => name);
  const wanted = new Set(shards?.map((name) => topology.byName(name).name) ?? all);
  const ordered = all.filter((name) => wanted.has(name));
  return { shards: ordered, samplePercent, keyColumn, keyKind, throttle };
}
