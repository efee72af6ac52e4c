import { expect, it } from '@jest/globals';
import { tenantIndexVerdicts } from './tenant-index.js';

const notes = { name: 'notes', columns: ['id', 'tenant_id'], nullable: [], ids: ['id'] };
const index = {
  name: 'i',
  table: 'notes',
  unique: false,
  primary: false,
  valid: true,
  building: false,
  partial: false,
  partitioned: false,
  columns: ['tenant_id', 'id'],
};

it.each([
  [{}, true],
  [{ columns: ['tenant_id'] }, true],
  [{ columns: ['id', 'tenant_id'] }, false],
  [{ columns: ['', 'tenant_id'] }, false],
  [{ valid: false }, false],
  [{ partial: true }, false],
  [{ table: 'others' }, false],
])('an index with %j leads to the rows of a tenant: %s', (change, leads) => {
  const found = tenantIndexVerdicts(
    's',
    { tables: [notes], indexes: [{ ...index, ...change }] },
    'tenant_id',
  );
  expect(found.map(({ severity, target }) => [severity, target])).toEqual(leads ? [] : [['warning', 's']]);
});

it('asks nothing of reference data', () => {
  expect(tenantIndexVerdicts('s', { tables: [notes], indexes: [] }, 'account')).toEqual([]);
});
