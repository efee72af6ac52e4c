import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { request as send } from 'node:http';
import { waitFor } from '@test/support';
import { deployment, type Deployment } from '../../support/deployment.js';
import { bootMetrics, type Adapter } from './metrics-app.js';
import { scrape, select } from './samples.js';
import type { INestApplication } from '@nestjs/common';

const METRIC = 'http_server_request_duration_seconds_count';

let databases: Deployment;

beforeAll(async () => {
  databases = await deployment(2);
});

describe.each<Adapter>(['express', 'fastify'])('requests under %s', (adapter) => {
  let app: INestApplication;
  let url: string;

  beforeAll(async () => {
    ({ app, url } = await bootMetrics(databases.options(), adapter));
  });

  afterAll(() => app.close());

  /** The labels of what was counted since the last call, as `GET /route 200 shard`. */
  const seen = new Set<string>();
  const counted = async () => {
    const lines = select(await scrape(url), METRIC).map(
      ({ labels: { method, route, status, shard }, value }) =>
        `${method} ${route} ${status} ${shard} ${value}`,
    );
    const fresh = lines.filter((line) => !line.includes(' /metrics ') && !seen.has(line));
    for (const line of fresh) seen.add(line);
    return fresh;
  };
  const get = async (path: string, tenant = 'acme', init: RequestInit = {}) => {
    const json = init.body === undefined ? {} : { 'content-type': 'application/json' };
    const response = await fetch(url + path, { headers: { 'x-tenant-id': tenant, ...json }, ...init });
    await response.text();
    return response.status;
  };

  it('are told by the template of their route and their shard', async () => {
    await get('/notes/1?secret=a');
    await get('/notes/2');
    await get('/notes/3', 'tenant-4');
    expect(await counted()).toEqual(['GET /notes/:id 200 shard0 2', 'GET /notes/:id 200 shard1 1']);
    await get('/notes', 'acme', { method: 'POST', body: JSON.stringify({ body: 'x' }) });
    expect(await counted()).toEqual(['POST /notes 201 shard0 1']);
  });

  it('have no shard, or several', async () => {
    await get('/work/none');
    await get('/work/each');
    await get('/work/current');
    await get('/work/inside/acme');
    await get('/work/named/shard1');
    expect(await counted()).toEqual([
      'GET /work/none 200 none 1',
      'GET /work/each 200 several 1',
      'GET /work/current 200 shard0 1',
      'GET /work/inside/:key 200 shard0 1',
      'GET /work/named/:name 200 shard1 1',
    ]);
  });

  it('are counted when they fail, in the handler or in front of it', async () => {
    await get('/work/broken/1');
    await get('/work/guarded/1');
    await get('/notes/1', '');
    await get('/notes/nonsense');
    expect(await counted()).toEqual([
      'GET /work/broken/:id 500 none 1',
      'GET /work/guarded/:id 403 none 1',
      'GET /notes/:id 400 none 1',
      'GET /notes/:id 500 shard0 1',
    ]);
  });

  it('are counted when no route is theirs, whatever their path', async () => {
    for (let index = 0; index < 20; index++) await get(`/nowhere/${index}`);
    await get('/work/none', 'acme', { method: 'DELETE' });
    expect(await counted()).toEqual(['GET unmatched 404 none 20', 'DELETE unmatched 404 none 1']);
  });

  it('are counted when their body is refused', async () => {
    expect(await get('/notes', 'acme', { method: 'POST', body: '{' })).toBe(400);
    expect(await counted()).toEqual([
      adapter === 'express' ? 'POST unmatched 400 none 1' : 'POST /notes 400 none 1',
    ]);
  });

  it('are counted as 499 when the client goes away', async () => {
    const lock = databases.query(0, 'begin; lock table notes; select pg_sleep(2); commit');
    await waitFor(
      async () =>
        (
          await databases.query(
            'control',
            `select 1 from pg_locks where mode = 'AccessExclusiveLock' and granted`,
          )
        ).length > 0,
      { what: 'the lock' },
    );
    const gone = send(`${url}/notes/1`, { headers: { 'x-tenant-id': 'acme' } });
    gone.on('error', () => undefined).end();
    setTimeout(() => gone.destroy(), 200);
    await lock;
    await waitFor(async () => (await counted()).some((line) => line.includes('499 shard0')), {
      what: 'the request that its client left',
    });
  });
});

it('are not measured with `routes: "off"`', async () => {
  const { app, url } = await bootMetrics({ ...databases.options(), metrics: { routes: 'off' } });
  try {
    await fetch(`${url}/work/none`);
    expect((await scrape(url)).filter(({ name }) => name.startsWith('http_'))).toEqual([]);
  } finally {
    await app.close();
  }
});

it('never become labels of tenants', async () => {
  const { app, url } = await bootMetrics(databases.options());
  try {
    const seriesAfter = async (from: number, to: number) => {
      for (let first = from; first < to; first += 20) {
        const batch = Array.from({ length: 20 }, (_none, index) => `tenant-${first + index}`);
        await Promise.all(
          batch.map(async (tenant) => {
            const response = await fetch(`${url}/notes/1?of=${tenant}`, {
              headers: { 'x-tenant-id': tenant },
            });
            await response.text();
          }),
        );
      }
      return (await fetch(`${url}/metrics`)).text();
    };
    await seriesAfter(0, 20);
    const few = await seriesAfter(20, 40);
    const many = await seriesAfter(40, 1000);
    expect(many.split('\n')).toHaveLength(few.split('\n').length);
    expect(many).not.toMatch(/tenant/i);
    const requests = select(await scrape(url), METRIC, { route: '/notes/:id', status: '200' });
    expect(new Set(requests.map(({ labels }) => labels['shard']))).toEqual(new Set(['shard0', 'shard1']));
    expect(requests.reduce((sum, { value }) => sum + value, 0)).toBe(1000);
  } finally {
    await app.close();
  }
});
