import { afterAll, beforeEach, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Note } from '../../support/deployment.js';
import { tenantOf } from './kinds-of-writes.js';
import { REPLICATED, ReadingApp, ReplicatedDeployment } from '../../support/replicated.js';
import type { ShardDb } from '@app/sharding';

/** Whose writes the work outside of every request sees, and a `runFor` that begins there, on a replica that applies late. */
let servers: ReplicatedDeployment;
let reading: ReadingApp;
let outside: ShardDb;

beforeAll(async () => {
  servers = await ReplicatedDeployment.start();
});

beforeEach(async () => {
  reading = await ReadingApp.boot(servers.options());
  await reading.untilReplicaServes();
  outside = await reading.shards.dbFor(REPLICATED);
  await servers.replica.setApplyDelay(3000);
});

afterEach(async () => {
  await reading.close();
  await servers.replica.setApplyDelay(0);
  await servers.untilCaughtUp();
});

afterAll(() => servers.dispose());

const count = async (body: string) =>
  (await reading.shards.readFor(REPLICATED)).getRepository(Note).countBy({ body });

it('a runFor does not see what other contexts have written', async () => {
  await reading.inContext((own) => own.getRepository(Note).insert(tenantOf('another runFor')));
  await reading.write('another request');
  expect(await reading.inContext(() => count('another runFor'))).toBe(0);
  expect(await reading.servedBy()).toBe('replica');
});

it('a tx outside that only reads takes no runFor from the replica, whoever has written before', async () => {
  await reading.inContext((own) => own.getRepository(Note).insert(tenantOf('another context')));
  await outside.tx((tx) => tx.getRepository(Note).count());
  await outside.manager.transaction((own) => own.getRepository(Note).count());
  expect(await reading.servedBy()).toBe('replica');
});

it('a runFor sees what was written outside, and is served by the replica once that is replayed', async () => {
  await outside.getRepository(Note).insert(tenantOf('outside'));
  expect(await reading.inContext(() => count('outside'))).toBe(1);
  expect(await reading.servedBy()).toBe('primary');
  await reading.untilReplicaServes();
  await reading.inContext((own) => own.getRepository(Note).insert(tenantOf('another context')));
  expect(await reading.servedBy()).toBe('replica');
});

it('work outside sees what every context has written', async () => {
  await reading.inContext((own) => own.getRepository(Note).insert(tenantOf('of a runFor')));
  expect(await count('of a runFor')).toBe(1);
  await reading.write('of a request');
  expect(await count('of a request')).toBe(1);
});

it('what a tx outside has let a runFor write is seen outside, and by a runFor behind it', async () => {
  await outside.tx(async () => {
    await reading.inContext((own) => own.getRepository(Note).insert(tenantOf('inside tx')));
  });
  expect(await count('inside tx')).toBe(1);
  expect(await reading.inContext(() => count('inside tx'))).toBe(1);
});
