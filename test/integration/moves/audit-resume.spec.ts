import { beforeAll, expect, it } from '@jest/globals';
import { audit, auditedFleet, fill, OF_0 } from './audited.js';
import type { AuditFinding } from '@app/sharding/operator';
import type { MovingFleet } from '../../support/moving-fleet.js';

let fleet: MovingFleet;
const TENANTS = Array.from({ length: 2300 }, (_none, index) => `t${index}`);

beforeAll(async () => {
  fleet = await auditedFleet();
  await fill(fleet, 0, TENANTS, 1);
  await fill(fleet, 1, OF_0, 1);
  await fleet.query(0, 'insert into notes (tenant_id) select null from generate_series(1, 3)');
});

it('gives the findings of one run when it is interrupted after each page and gone on with', async () => {
  const whole = await audit(fleet);
  expect(whole.complete).toBe(true);
  const findings: AuditFinding[] = [];
  let calls = 0;
  let keys = 0;
  for (let after: string | undefined; ;) {
    const stop = new AbortController();
    const part = await audit(
      fleet,
      { ...(after !== undefined && { after }) },
      { signal: stop.signal, progress: () => stop.abort() },
    );
    findings.push(...part.findings);
    calls++;
    keys += part.keys;
    if (part.complete) break;
    expect(part.cursor).not.toBe(after);
    after = part.cursor;
  }
  expect(calls).toBeGreaterThan(7);
  expect(keys).toBe(whole.keys);
  expect(findings.length).toBe(Object.values(whole.counts).reduce((sum, count) => sum + count, 0));
  expect(findings.slice(0, whole.findings.length)).toEqual(whole.findings);
});

it('counts what it does not keep', async () => {
  const report = await audit(fleet);
  const sum = Object.values(report.counts).reduce((total, count) => total + count, 0);
  expect(sum).toBeGreaterThan(1000);
  expect(report.findings.length).toBe(1000);
});

it('looks at no more keys per second than it may', async () => {
  const began = performance.now();
  const stop = AbortSignal.timeout(1200);
  const report = await audit(fleet, { throttle: 100 }, { signal: stop });
  const seconds = (performance.now() - began) / 1000;
  expect(report.complete).toBe(false);
  expect(report.keys).toBeLessThanOrEqual(100 * (seconds + 1));
});

it('begins where nothing was looked at', async () => {
  const report = await audit(fleet, {}, { signal: AbortSignal.abort() });
  expect(report).toMatchObject({ complete: false, keys: 0, findings: [] });
  expect((await audit(fleet, { after: report.cursor! })).counts).toEqual((await audit(fleet)).counts);
});

it('goes through a table without an index too, and by the order of a number', async () => {
  await fleet.query(1, 'create table counted (id bigint primary key, owner bigint not null)');
  await fleet.query(1, 'insert into counted select n, n * 7 from generate_series(-40, 40) n');
  const report = await audit(fleet, { keyColumn: 'owner', keyKind: 'integer', shards: ['shard1'] });
  expect(report.keys).toBe(81);
  const keys = report.findings.map(({ key }) => Number(key));
  expect(keys).toEqual(keys.toSorted((a, b) => a - b));
  expect(keys.length).toBeGreaterThan(20);
  expect(report.counts.misplaced).toBe(keys.length);
});
