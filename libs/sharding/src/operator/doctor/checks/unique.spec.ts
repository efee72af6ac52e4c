import { expect, it } from '@jest/globals';
import { uniqueVerdicts } from './unique.js';

const table = (name: string, columns: string[], ids: string[] = []) => ({ name, columns, nullable: [], ids });
const index = {
  name: 'i',
  table: 'notes',
  unique: true,
  primary: false,
  valid: true,
  building: false,
  partial: false,
  partitioned: false,
  columns: ['slug'],
};
const tables = [
  table('notes', ['id', 'tenant_id', 'slug', 'folder', 'city'], ['id']),
  table('folders', ['id', 'tenant_id']),
  table('cities', ['id']),
];
const key = (name: string, column: string, references: string) => ({
  name,
  table: 'notes',
  references,
  columns: [column],
  referenced: ['id'],
});
const foreignKeys = [key('f', 'folder', 'folders'), key('c', 'city', 'cities')];

it.each([
  ['a tenant and something', { columns: ['slug', 'tenant_id'] }, undefined],
  ['an id', { columns: ['id'], primary: true }, undefined],
  ['a reference to a sharded table', { columns: ['folder', 'slug'] }, undefined],
  ['reference data', { table: 'cities', columns: ['id'] }, undefined],
  ['nothing', { unique: false }, undefined],
  ['a natural key', {}, 'the unique index i of notes (slug)'],
  ['a natural primary key', { primary: true }, 'the primary key i of notes (slug)'],
  ['an expression', { columns: [''] }, 'the unique index i of notes (expression)'],
  ['a reference to reference data', { columns: ['city'] }, 'the unique index i of notes (city)'],
] as const)('unique over %s', (_what, change, said) => {
  const found = uniqueVerdicts('s', { tables, indexes: [{ ...index, ...change }], foreignKeys }, 'tenant_id');
  expect(found.map(({ severity, reason }) => `${severity} ${reason}`)).toEqual(
    said === undefined
      ? []
      : [
          `warning ${said} has no tenant_id: two tenants collide on one shard and not on two, and a move can fail on it`,
        ],
  );
});
