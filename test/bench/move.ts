import 'reflect-metadata';
import { PostgresServer } from '../support/postgres-server.js';
import { compare, printTable, ratio, writeResults, type SideResult } from './support/bench.js';
import { MovedTenant } from './move/moved-tenant.js';
import { hasPsql, pipePsql } from './move/psql.js';

/**
 * A tenant is copied and verified, against `psql` that copies it in binary and verifies nothing: the same rows between the same
 * databases, in turn.
 */

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 7);
const ROWS = Number(process.env['BENCH_ROWS'] ?? 500_000);

if (!hasPsql()) throw new Error('this benchmark needs psql in the PATH');
const server = await PostgresServer.start({ name: 'bench' });
try {
  const tenant = await MovedTenant.create(server, ROWS);
  const copies: number[] = [];
  const sides = await compare(
    [
      { name: 'psql | psql', run: () => tenant.timed(() => pipePsql(tenant)) },
      {
        name: 'move, verified',
        run: async () => {
          const { totalMs, copyMs } = await tenant.moved();
          copies.push(copyMs);
          return totalMs;
        },
      },
    ],
    { rounds: ROUNDS, warmup: 1 },
  );
  const [psql, moved] = sides as [SideResult, SideResult];
  const copy = { name: 'move, the copy in it', samples: copies.slice(-ROUNDS) };
  printTable([...sides, copy], { title: `${ROWS} rows`, unit: 'ms' });
  writeResults('move', {
    total_vs_psql: ratio(moved, psql),
    copy_vs_psql: ratio(copy, psql),
    heap_mb: tenant.peakHeapMb,
    rows: ROWS,
  });
} finally {
  await server.dispose();
}
