import { expect, it } from '@jest/globals';
import { sameDatabaseVerdicts } from './same-database.js';

const at = (target: string, started: string, database: string) => ({ target, server: { started, database } });

it('names every later one of the same server and database', () => {
  const found = sameDatabaseVerdicts([
    at('control', 'one', '1'),
    at('shard:a', 'one', '2'),
    at('shard:b', 'two', '1'),
    at('shard:c', 'one', '2'),
    at('shard:c:replica', 'one', '2'),
    at('shard:b:replica', 'two', '1'),
  ]);
  expect(found.map(({ severity, target, reason }) => [severity, target, reason])).toEqual([
    ['error', 'shard:c', 'is the same database as shard:a, by another URL'],
    ['error', 'shard:c:replica', 'is the same database as shard:a, by another URL'],
    ['warning', 'shard:b:replica', 'is the same database as shard:b, by another URL'],
  ]);
});
