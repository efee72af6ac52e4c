import { inTransaction } from '../move-session.js';
import { lockFence } from '../fence/with-fence-lock.js';
import { moveLeftovers } from './move-leftovers.js';
import { onShard } from './audit-run.js';
import { quoted } from '../quoted.js';
import { removeIdleFences } from '../fence/remove-idle-fences.js';
import { retire } from '../fence/retire.js';
import { withControl } from '../with-mover.js';
import type { RepairRun } from './repair-run.js';

/** Removes what moves have left that are over or unknown; looked at anew. @returns what, for people */
export function cleanShard(shard: string, { fleet, call, mode }: RepairRun): Promise<string> {
  return withControl(fleet, call, (control) =>
    onShard({ fleet, signal: call.signal }, shard, async (session) => {
      const left = await moveLeftovers(session, control);
      const fenced = left.filter(({ move }) => move !== 'purged').map(({ id }) => id);
      const ids = left.map(({ id }) => id);
      const sides = left.filter(({ side }) => side).map(({ id }) => id);
      const moves = ids.length === 0 ? '' : `what is left of ${ids.join(', ')}, and `;
      if (mode === 'dry-run') return `removes ${moves}triggers that refuse nothing`;
      await inTransaction(session, '', async () => {
        await lockFence(session);
        await retire(session, 'f.move_id = any ($1::uuid[])', [fenced]);
        await session.client.query(
          `delete from ${quoted(session.schema)}._sharding_move_sides where move_id = any ($1::uuid[])`,
          [sides],
        );
      });
      const freed = await removeIdleFences(session, { signal: call.signal });
      return `removed ${moves}triggers of ${freed.length === 0 ? 'no table' : freed.join(', ')}`;
    }),
  );
}
