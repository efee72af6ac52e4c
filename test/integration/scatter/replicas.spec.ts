import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Shards } from '@app/sharding';
import { Note, bootApp } from '../../support/deployment.js';
import { REPLICATED, ReplicatedDeployment } from '../../support/replicated.js';
import { waitFor } from '@test/support';
import { scatterRepository } from '@app/sharding';
import type { INestApplication } from '@nestjs/common';

let deployment: ReplicatedDeployment;
let app: INestApplication;

beforeAll(async () => {
  deployment = await ReplicatedDeployment.start();
  app = await bootApp(deployment.options({ maxReplicaLagMs: 60_000, replicaFallback: 'primary' }));
}, 60_000);

afterAll(async () => {
  await app.close();
  await deployment.dispose();
});

it('reads from the replica, and from the primary what the context itself has written', async () => {
  const shards = app.get(Shards);
  const notes = scatterRepository(Note, { shards });
  const pinned = scatterRepository(Note, { shards, options: { reads: 'primary' } });
  const count = async () => {
    let streamed = 0;
    for await (const note of notes.stream()) if (note) streamed++;
    return [await notes.count(), (await notes.find()).length, streamed];
  };
  await waitFor(async () => shards.named('shard0').replicaStatus()?.ready === true, {
    what: 'the replica',
    timeoutMs: 15_000,
  });
  await deployment.replica.pauseReplay();
  try {
    await deployment.primary.query(
      `insert into notes (tenant_id, body) values ('${REPLICATED}', 'unseen')`,
      [],
      'shard0',
    );
    await shards.runFor(REPLICATED, async (db) => {
      expect(await count()).toEqual([0, 0, 0]); // it is a read: it makes no later read a causal one
      expect(await count()).toEqual([0, 0, 0]);
      expect(await pinned.count()).toBe(1);
      await db.getRepository(Note).insert({ tenantId: REPLICATED, body: 'own' });
      expect(await count()).toEqual([2, 2, 2]);
    });
  } finally {
    await deployment.replica.resumeReplay();
  }
}, 40_000);
