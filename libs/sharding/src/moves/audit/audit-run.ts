import { isConnectionFailure, failureCode } from '../../shards/database-failure.js';
import { inSession } from '../in-session.js';
import type { MoveSession } from '../move-session.js';
import { ShardingError } from '@app/routing';
import type { AuditPosition } from './audit-cursor.js';
import type { AuditTerms } from './audit-request.js';
import type { AuditedTable } from './audited-tables.js';
import type { Found } from './found.js';
import type { MoveFleet } from '../mover.js';
import type { Pace } from './pace.js';

/** One audit while it runs. */
export interface AuditRun {
  readonly fleet: MoveFleet;
  readonly control: MoveSession;
  readonly terms: AuditTerms;
  readonly signal: AbortSignal;
  readonly found: Found;
  readonly pace: Pace;
  /** Shards that did not answer once: they are not asked again for every page. */
  readonly silent: Set<string>;
  readonly tables: Map<string, readonly AuditedTable[]>;
}

/** One shard of it. */
export interface ShardAudit extends AuditRun {
  readonly shard: string;
  readonly session: MoveSession;
}

/** Lends a session on a shard. */
export function onShard<T>(
  { fleet, signal }: Pick<AuditRun, 'fleet' | 'signal'>,
  shard: string,
  work: (session: MoveSession) => Promise<T>,
): Promise<T> {
  return inSession({ database: fleet.shard(shard), purpose: 'audit', signal }, work);
}

/** What an error says, without what rows hold. */
export function reasonOf(error: unknown): string {
  if (error instanceof ShardingError) return error.message;
  if (isConnectionFailure(error)) return `cannot be reached (${failureCode(error) ?? 'connection lost'})`;
  return `answers with an error (${failureCode(error) ?? 'of no code'})`;
}

/** Told of each position that was reached. */
export type Reached = (position: AuditPosition) => void;
