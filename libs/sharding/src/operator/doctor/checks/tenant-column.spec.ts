import { expect, it } from '@jest/globals';
import { tenantColumnVerdicts } from './tenant-column.js';

const table = (name: string, columns: string[], nullable: string[] = []) => ({
  name,
  columns,
  nullable,
  ids: [],
});
const tables = [
  table('notes', ['id', 'tenant_id']),
  table('drafts', ['id', 'tenant_id'], ['tenant_id']),
  table('cities', ['id']),
];
const judged = (shardedTables: string[]) =>
  tenantColumnVerdicts('shard:a', tables, { tenantColumn: 'tenant_id', shardedTables }).map(
    ({ severity, reason }) => `${severity} ${reason}`,
  );
const NULLS =
  'warning the table drafts takes rows without tenant_id: nobody finds them, and no move takes them';
const REFERENCE =
  'info the table cities has no column tenant_id: it is taken for reference data, which has the same rows on every shard';

it('takes a table without the column for reference data', () => {
  expect(judged([])).toEqual([NULLS, REFERENCE]);
  expect(judged(['notes'])).toEqual([NULLS, REFERENCE]);
});

it('misses the column where the table is said to be sharded', () => {
  expect(judged(['cities'])).toEqual([
    NULLS,
    'error the table cities has no column tenant_id: whose its rows are is not known, so that no repository can filter and no move can take them',
  ]);
});

it('misses a table', () => {
  expect(judged(['a.b'])).toEqual(['error has no table a.b', NULLS, REFERENCE]);
});
