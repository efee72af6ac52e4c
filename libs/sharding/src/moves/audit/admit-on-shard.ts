import { admitPins } from './refused-pins.js';
import { onShard } from './audit-run.js';
import { withControl } from '../with-mover.js';
import type { MoveCall, MoveFleet } from '../mover.js';
import type { RepairRun } from './repair-run.js';

/** Of one key, or of all that are pinned to the shard. @returns how many were refused there, and are not any more */
export function admitOnShard(
  { shard, key }: { readonly shard: string; readonly key?: string },
  fleet: MoveFleet,
  call: MoveCall,
): Promise<number> {
  return withControl(fleet, call, (control) =>
    onShard({ fleet, signal: call.signal }, shard, (session) =>
      admitPins({ shard, session, control, fleet, ...(key !== undefined && { key }) }),
    ),
  );
}

/** What a repair does of it. @returns what, for people */
export async function admitPinned(shard: string, { fleet, call, mode }: RepairRun): Promise<string> {
  if (mode === 'dry-run') return 'admits keys that are pinned here, of slots that have left';
  const count = await admitOnShard({ shard }, fleet, call);
  return `admitted keys that are pinned here, of slots that have left: ${count}`;
}
