import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { JobsModule, Jobs } from '@app/jobs';
import { waitFor } from '@test/support';
import { OwnControl } from '../../support/own-control.js';
import { Handlers, QUICK, untilCalled } from '../../integration/jobs/job-app.js';
import type { RunningDirectory } from '../../support/own-control.js';

let control: OwnControl;

beforeAll(async () => {
  control = await OwnControl.start();
});

afterAll(() => control.dispose());

async function boot(): Promise<{ running: RunningDirectory; jobs: Jobs; handlers: Handlers }> {
  const imports = [JobsModule.forRoot({ ...QUICK, stopTimeoutMs: 500 })];
  const running = await control.boot({ directoryShardRouter: false }, { imports, providers: [Handlers] });
  return { running, jobs: running.app.get(Jobs), handlers: running.app.get(Handlers) };
}

const shardAnswers = ({ shards }: RunningDirectory) =>
  shards.runFor('acme', (db) => db.query('select 1 as one'));

it('jobs go on by themselves when the control database is back, and the shards never miss it', async () => {
  const { running, jobs, handlers } = await boot();
  await jobs.send('plain', 'before');
  await untilCalled(handlers, 1);
  const gate: { open?: () => void } = {};
  handlers.work = ({ payload }) =>
    payload === 'under way' && new Promise<void>((resolve) => (gate.open = resolve));
  await jobs.send('stubborn', 'under way');
  await jobs.send('note', { body: 'waiting' }, { routingKey: 'acme', startAfter: 1 });
  await waitFor(async () => gate.open !== undefined, { what: 'the job under way' });
  await control.proxy.refuse();
  await control.proxy.dropAll();
  const lost = jobs.send('plain', 'lost');
  await expect(lost).rejects.toMatchObject({
    code: expect.stringMatching(/^(shard_unavailable|commit_unknown)$/),
  });
  gate.open?.();
  expect(await shardAnswers(running)).toEqual([{ one: 1 }]);
  await control.proxy.accept();
  await untilCalled(handlers, 3);
  const all = async () =>
    (await control.sql(`select 1 from pgboss.job where state <> 'completed'`)).length === 0;
  await waitFor(all, { what: 'every job to be completed', timeoutMs: 15_000 });
  expect(handlers.calls.map(({ payload }) => payload)).toEqual(['before', 'under way', { body: 'waiting' }]);
  await running.app.close();
});

it('a boot without the control database lives, and its jobs begin when that is there', async () => {
  await control.proxy.refuse();
  const { running, jobs, handlers } = await boot();
  expect(await shardAnswers(running)).toEqual([{ one: 1 }]);
  await expect(jobs.send('plain', 1)).rejects.toMatchObject({ code: 'shard_unavailable' });
  await control.proxy.accept();
  const sent = async () => jobs.send('plain', 2).then(() => true);
  await waitFor(sent, { what: 'a job to be sent', timeoutMs: 15_000 });
  await untilCalled(handlers, 1);
  expect(handlers.calls.map(({ payload }) => payload)).toEqual([2]);
  await running.app.close();
});

it('a shutdown while the control database says nothing is bounded', async () => {
  const { running, jobs, handlers } = await boot();
  handlers.work = () => new Promise(() => undefined);
  await jobs.send('plain', 1);
  await untilCalled(handlers, 1);
  control.proxy.blackHole();
  await running.app.close(); // the test's own limit is the bound
  control.proxy.heal();
});
