import { afterEach, beforeAll, expect, it } from '@jest/globals';
import { Pins, Shards } from '@app/sharding';
import { waitFor } from '@test/support';
import { deployment } from '../../support/deployment.js';
import { bootJobs, untilCalled } from './job-app.js';
import type { Deployment } from '../../support/deployment.js';
import type { JobApp } from './job-app.js';

let databases: Deployment;
const open: JobApp[] = [];

beforeAll(async () => {
  databases = await deployment(2);
});

afterEach(async () => {
  for (const { app } of open.splice(0)) await app.close();
});

it('a job follows its tenant to the shard where it lives when the job runs', async () => {
  const sender = await boot({ work: 'off' });
  const shards = sender.app.get(Shards);
  const home = (await shards.shardFor('acme')).name;
  const other = home === 'shard0' ? 'shard1' : 'shard0';
  await sender.jobs.send('note', { body: 'at home' }, { routingKey: 'acme' });
  const worker = await boot();
  await untilCalled(worker.handlers, 1);
  await sender.app.get(Pins).pin('acme', other);
  await waitFor(async () => (await worker.app.get(Shards).shardFor('acme')).name === other, {
    what: 'the new route',
  });
  await sender.jobs.send('note', { body: 'moved' }, { routingKey: 'acme' });
  await untilCalled(worker.handlers, 2);
  const bodies = async (name: string) =>
    (await databases.query(Number(name.slice(-1)), 'select body from notes')).map(({ body }) => body);
  expect([await bodies(home), await bodies(other)]).toEqual([['at home'], ['moved']]);
});

async function boot(options: Parameters<typeof bootJobs>[1] = {}): Promise<JobApp> {
  const booted = await bootJobs(databases.options({ directoryShardRouter: true }), options);
  open.push(booted);
  return booted;
}
