import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { expectNoConnections, waitFor } from '@test/support';
import { deployment } from '../../support/deployment.js';
import { ServiceProcess } from '../../support/service-process.js';
import { bootJobs, QUICK } from '../../integration/jobs/job-app.js';
import type { Deployment } from '../../support/deployment.js';

jest.setTimeout(120_000); // processes that load everything

let databases: Deployment;
const running: ServiceProcess[] = [];

beforeEach(async () => {
  databases = await deployment(1);
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((process) => process.kill()));
  await expectNoConnections(databases.control);
});

async function start(): Promise<ServiceProcess> {
  const { entities: _classes, ...sharding } = databases.options();
  const started = await ServiceProcess.start('job-child.mjs', { sharding, jobs: QUICK });
  running.push(started);
  return started;
}

it("a job whose process is killed is another one's when its lease ends, as its next attempt", async () => {
  const [first, second] = [await start(), await start()];
  const sender = await sendEndless();
  const began = async () =>
    [first, second].find(({ lines }) => lines.some(({ endless }) => endless === sender));
  const worker = await waitFor(began, { what: 'the job to begin', timeoutMs: 40_000 });
  await worker.kill();
  const other = worker === first ? second : first;
  const line = await other.until(({ endless }) => endless === sender, 'the job on another process');
  expect([line['attempt'], worker.lines.filter(({ endless }) => endless).length]).toEqual([2, 1]);
});

it('a cron runs once for each time in three processes that start at once', async () => {
  const processes = await Promise.all([start(), start(), start()]);
  const ticks = () =>
    processes.flatMap(({ lines }) => lines.flatMap(({ dueAt }) => (dueAt ? [String(dueAt)] : [])));
  await waitFor(async () => ticks().length >= 5, { what: 'five ticks', timeoutMs: 40_000 });
  expect(await Promise.all(processes.map((process) => process.terminate()))).toEqual([0, 0, 0]);
  const told = ticks().toSorted((a, b) => a.localeCompare(b));
  expect(told).toEqual([...new Set(told)]);
  const rows = await databases.query(
    'control',
    `select data->'payload'->>'dueAt' as due from pgboss.job where name = 'tick' and state = 'completed' order by 1`,
  );
  expect(rows.map(({ due }) => due)).toEqual(expect.arrayContaining(told.slice(0, 3)));
});

/** Puts a job into the queue that this process has no handler for. */
async function sendEndless(): Promise<string> {
  const { app } = await bootJobs(databases.options(), { work: 'off' });
  await app.close();
  const [row] = await databases.query(
    'control',
    `insert into pgboss.job (name, data, retry_limit, expire_in, policy)
      values ('endless', '{"payload": null}', 3, interval '5 seconds', 'short') returning id`,
  );
  return String(row?.['id']);
}
