import { expect, it } from '@jest/globals';
import { foreignKeyVerdicts } from './foreign-keys.js';

const table = (name: string, columns: string[]) => ({ name, columns, nullable: [], ids: [] });
const tables = [
  table('notes', ['id', 'tenant_id']),
  table('folders', ['id', 'tenant_id']),
  table('cities', ['id']),
];

it.each([
  ['notes', 'tenant_id id', 'folders', 'tenant_id id', undefined],
  ['notes', 'id tenant_id', 'folders', 'id tenant_id', undefined],
  ['cities', 'id', 'cities', 'id', undefined],
  ['notes', 'id', 'folders', 'id', 'warning the foreign key f of notes compares no tenant_id'],
  [
    'notes',
    'tenant_id id',
    'folders',
    'id tenant_id',
    'warning the foreign key f of notes compares no tenant_id',
  ],
  [
    'cities',
    'id',
    'folders',
    'id',
    'warning the foreign key f of cities refers to the sharded table folders',
  ],
  ['notes', 'id', 'cities', 'id', 'info the foreign key f of notes refers to cities, which is not sharded'],
])('%s (%s) -> %s (%s): %s', (from, columns, references, referenced, said) => {
  const foreignKey = {
    name: 'f',
    table: from,
    references,
    columns: columns.split(' '),
    referenced: referenced.split(' '),
  };
  const found = foreignKeyVerdicts('s', { tables, foreignKeys: [foreignKey] }, 'tenant_id');
  expect(found.map(({ severity, reason }) => `${severity} ${reason}`.slice(0, said?.length))).toEqual(
    said === undefined ? [] : [said],
  );
});
