/** @jest-environment node */
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { deployment } from '../../support/deployment.js';
import { call } from '../../support/bookmarks.js';
import type { INestApplication } from '@nestjs/common';

/** What Node says of a package that is not there. */
const absent = (name: string) => () => {
  throw Object.assign(new Error(`Cannot find package '${name}'`), { code: 'ERR_MODULE_NOT_FOUND' });
};
jest.unstable_mockModule('prom-client', absent('prom-client'));
jest.unstable_mockModule('@opentelemetry/api', absent('@opentelemetry/api'));

let app: INestApplication;
let url: string;

beforeAll(async () => {
  const { bootMetrics } = await import('./metrics-app.js');
  ({ app, url } = await bootMetrics((await deployment(1)).options()));
});

afterAll(() => app.close());

it('the JSON report needs neither prom-client nor OpenTelemetry; the Prometheus route is absent', async () => {
  expect(await call(`${url}/actuator/metrics`)).toMatchObject({
    status: 200,
    body: { database_shards: { shard0: { slots: 16384 } } },
  });
  expect((await call(`${url}/metrics`)).status).toBe(404);
  expect((await call(`${url}/work/current`, { tenant: 'acme' })).body).toEqual([{ one: 1 }]);
});
