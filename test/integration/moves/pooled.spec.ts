import { expect, it } from '@jest/globals';
import { slotOf } from '@app/routing';
import { runOnce } from '../../support/admin-query.js';
import { MovingFleet } from '../../support/moving-fleet.js';
import { TransactionPooler } from '../../support/transaction-pooler.js';

/** A tenant of the lower half of the slots: shard0. */
const acme = Array.from({ length: 20 }, (_, index) => `tenant-${index}`).find((key) => slotOf(key) < 8192)!;

it('leaves no setting behind in a pooler, and goes around it', async () => {
  const fleet = await MovingFleet.create();
  const [url = ''] = fleet.shards;
  const pooler = await TransactionPooler.start({ serverUrl: url, servers: 1 });
  try {
    const { database } = fleet.options;
    const pooled = (more: { maintenanceUrl?: string }) => {
      const [first, ...others] = database?.shards ?? [];
      const shard = { ...first!, primaryUrl: pooler.url(url), pooler: 'transaction' as const, ...more };
      return { ...fleet.options, database: { ...database, shards: [shard, ...others] } };
    };
    const move = (more: { maintenanceUrl?: string }) =>
      fleet.moves((moves) => moves.move(fleet.request({ keys: [acme] })), pooled(more));
    await expect(move({})).rejects.toMatchObject({
      code: 'invalid_topology',
      message: expect.stringContaining('shard:shard0: moves and audits pin settings'),
    });
    expect(await runOnce(pooler.url(url), 'show search_path')).toEqual([{ search_path: '"$user", public' }]);
    await expect(move({ maintenanceUrl: url })).resolves.toMatchObject({ state: 'verified' });
  } finally {
    await pooler.dispose();
  }
});
