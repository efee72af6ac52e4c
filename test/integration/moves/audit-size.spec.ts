import { beforeAll, expect, it, jest } from '@jest/globals';
import { audit, auditedFleet, OF_1 } from './audited.js';
import type { MovingFleet } from '../../support/moving-fleet.js';

jest.setTimeout(600_000);

/** AUDIT_KEYS=200000 is the soak. */
const KEYS = Number(process.env['AUDIT_KEYS'] ?? 4000);
const ROWS = 5;

let fleet: MovingFleet;
beforeAll(async () => {
  fleet = await auditedFleet();
  await fleet.query(
    0,
    `insert into bookmarks (tenant_id, url) select 't' || n, 'x' from generate_series(1, $1::int) n, generate_series(1, $2::int)
      where _sharding_slot('t' || n) < 8192 order by n % 97, n`,
    [KEYS, ROWS],
  );
  await fleet.query(0, `insert into bookmarks (tenant_id, url) values ($1, 'stray')`, [OF_1[0]]);
  await fleet.query(0, 'vacuum analyze bookmarks');
});

it('goes through many keys with the memory of a page, and finds the one', async () => {
  const heap: number[] = [];
  const began = performance.now();
  const report = await audit(fleet, {}, { progress: () => heap.push(process.memoryUsage().heapUsed) });
  const ms = performance.now() - began;
  expect(report.findings.map(({ kind, key }) => [kind, key])).toEqual([['misplaced', OF_1[0]]]);
  expect(report.keys).toBeGreaterThan(KEYS * 0.45);
  expect(Math.max(...heap) - heap[0]!).toBeLessThan(60 * 1024 * 1024);
  if (process.env['AUDIT_KEYS']) {
    process.stderr.write(
      `${report.keys} keys in ${Math.round(ms)} ms, ${Math.round((Math.max(...heap) - heap[0]!) / 1e6)} MB of heap\n`,
    );
  }
});
