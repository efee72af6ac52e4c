import { ShardingError } from '@app/routing';
import { hasEnded } from './record/move-record.js';
import { endLease } from './record/move-rows.js';
import { MoveLease } from './record/move-lease.js';
import { moveFailure } from './move-failure.js';
import { inSession } from './in-session.js';
import type { MoveSession } from './move-session.js';
import type { MoveCall, MoveFleet, Mover } from './mover.js';
import type { MoveRecord } from './record/move-record.js';

const LEASE_MS = 15_000;
/** A process that is cut off keeps its lease for half a minute. */
const PROCESSES_MS = 40_000;

/** Beside the lease: a mover that has died leaves it for so long. */
const PATIENCE_MS = 5000;

/** Lends a session on the control database for the whole of one command. @throws what {@link moveFailure} makes of an error */
export async function withControl<T>(
  fleet: MoveFleet,
  { signal, watch }: MoveCall,
  work: (control: MoveSession) => Promise<T>,
): Promise<T> {
  try {
    return await inSession({ database: fleet.control, purpose: 'move', signal, watch }, work);
  } catch (error) {
    throw signal.aborted ? interrupted(error) : moveFailure(error);
  }
}

/** What statements say whose connection was ended in the middle tells nobody what happened. */
function interrupted(cause: unknown): ShardingError {
  if (cause instanceof ShardingError) return cause;
  const message = 'interrupted; nothing is lost: the same command again goes on from there';
  return new ShardingError('aborted', message, { cause });
}

/** Takes a move, opens both shards, and lets go of everything. */
export async function withMover<T>(
  fleet: MoveFleet,
  call: MoveCall & { readonly control: MoveSession; readonly id: string },
  work: (mover: Mover) => Promise<T>,
): Promise<T> {
  const { control, id, watch, leaseMs = LEASE_MS, note = () => undefined } = call;
  const wait = { leaseMs, waitMs: leaseMs + PATIENCE_MS, signal: call.signal, note };
  const lease = await MoveLease.take(control, id, wait);
  try {
    if (hasEnded(lease.record)) throw ended(lease.record);
    const signal = AbortSignal.any([call.signal, lease.lost]);
    return await onBothSides(fleet, { ...sidesOf(lease.record), signal, watch }, (source, destination) =>
      work(moverOf({ fleet, lease, control, source, destination }, { ...call, signal, note })),
    );
  } catch (error) {
    throw lease.lost.aborted ? lease.lost.reason : error;
  } finally {
    await lease.end();
    if (call.signal.aborted && !lease.lost.aborted) await letGo(fleet, lease.record);
  }
}

/** A purged move has nothing more to delete, and the copy of an aborted one is gone: its source holds the only rows. */
function ended({ id, state }: MoveRecord): ShardingError {
  return new ShardingError('move_refused', `move ${id} has ended: it is ${state}`);
}

const GOODBYE_MS = 1000;

/** The interrupt has ended the session that would have said it; who resumes need not wait for the end of the lease. */
async function letGo({ control }: MoveFleet, record: MoveRecord): Promise<void> {
  const place = { database: control, purpose: 'move', signal: AbortSignal.timeout(GOODBYE_MS) };
  await inSession(place, (session) => endLease(session, record)).catch(() => undefined); // it runs out
}

const sidesOf = ({ id, source, destination }: MoveRecord) => ({ id, source, destination });

/** Two shards of one command. */
export interface Sides {
  readonly source: string;
  readonly destination: string;
  /** Of the move, for the names of the sessions. */
  readonly id?: string;
  readonly signal: AbortSignal;
  /** As in {@link MoveCall}. */
  readonly watch?: MoveCall['watch'];
}

/** Lends a session on each side. @throws ShardingError `unknown_shard` */
export function onBothSides<T>(
  fleet: MoveFleet,
  { source, destination, id = '', signal, watch }: Sides,
  use: (source: MoveSession, destination: MoveSession) => Promise<T>,
): Promise<T> {
  const purpose = `move ${id.slice(0, 8)}`.trim();
  const place = (shard: string) => ({ database: fleet.shard(shard), purpose, signal, watch });
  return inSession(place(source), (from) => inSession(place(destination), (to) => use(from, to)));
}

type Parts = Pick<Mover, 'fleet' | 'lease' | 'control' | 'source' | 'destination'>;
type Voice = MoveCall & Pick<Mover, 'signal' | 'note'>;

function moverOf(parts: Parts, { signal, note, progress, reached, ...voice }: Voice): Mover {
  const { tables, scope, terms } = parts.lease.record;
  return {
    ...parts,
    content: { tables, rows: { scope, keyKind: terms.keyKind, kept: terms.kept } },
    signal,
    processesMs: voice.processesMs ?? PROCESSES_MS,
    note,
    progress: progress ?? (() => undefined),
    reached: async (point) => {
      progress?.({ move: parts.lease.record.id, step: point });
      await reached?.(point);
      signal.throwIfAborted();
    },
  };
}
