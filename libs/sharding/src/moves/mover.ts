import type { Topology } from '@app/routing';
import type { Secret } from '../secret.js';
import type { Database } from '../shards/database.js';
import type { GroupOf } from '@app/routing';
import type { MovedContent } from './content.js';
import type { MoveSession } from './move-session.js';
import type { WatchTimes } from './session-watch.js';
import type { MoveLease } from './record/move-lease.js';

/** What a mover says while it works. */
export interface MoveProgress {
  readonly move: string;
  /** `copy` while rows travel, else the moment that was reached. */
  readonly step: 'copy' | MovePoint;
  /** With `copy`: which table, and what was copied of it. */
  readonly table?: string;
  readonly bytes?: number;
  /** With the last of a table: how many it was. */
  readonly rows?: number;
  /** With `copy`: what is expected of the table, by the planner; it is often wrong. */
  readonly expected?: ExpectedRows;
}

/** An estimate. */
export interface ExpectedRows {
  readonly rows: number;
  readonly bytes: number;
}

/** Named moments of a move: after each of them a crash leaves what `moves/MOVE.md` says. */
export const MOVE_POINTS = [
  'planned',
  'destination-closed',
  'sequences-raised',
  'rows-copied',
  'copy-committed',
  'copied',
  'fence-raised',
  'fenced',
  'destination-opened',
  'verified',
  'tombstones-set',
  'rows-deleted',
  'purge-committed',
  'purged',
  'copy-removed',
  'aborted',
] as const;
export type MovePoint = (typeof MOVE_POINTS)[number];

/** What moves need of a deployment. */
export interface MoveFleet {
  readonly topology: Topology;
  readonly control: Database;
  /** The primary of a shard. @throws ShardingError `unknown_shard` */
  shard(name: string): Database;
  /** Whether the application routes by the directory. */
  readonly directory: 'obeyed' | 'ignored';
  readonly groupOf?: GroupOf | undefined;
  /** Signs certificates. */
  readonly certificateSecret?: Secret | undefined;
}

/** How one command runs. */
export interface MoveCall {
  readonly signal: AbortSignal;
  /** Of the lease; default 15,000. */
  readonly leaseMs?: number;
  /** How long living processes may take to learn what changed; default 40,000: one that is cut off keeps its lease for 30 s. */
  readonly processesMs?: number;
  /** A session is given up after two looks in a row without an answer, or that show that its own is lost: `shard_unavailable`. */
  readonly watch?: Partial<WatchTimes> | undefined;
  readonly note?: (line: string) => void;
  readonly progress?: (progress: MoveProgress) => void;
  /** Awaited at each named moment. */
  readonly reached?: (point: MovePoint) => void | Promise<void>;
}

/** One move in the hands of one mover. */
export interface Mover {
  readonly lease: MoveLease;
  readonly fleet: MoveFleet;
  readonly control: MoveSession;
  readonly source: MoveSession;
  readonly destination: MoveSession;
  readonly content: MovedContent;
  /** Fires when the operator interrupts, or the lease is lost. */
  readonly signal: AbortSignal;
  readonly processesMs: number;
  readonly note: (line: string) => void;
  readonly progress: (progress: MoveProgress) => void;
  readonly reached: (point: MovePoint) => Promise<void>;
}
