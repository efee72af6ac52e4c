import { describe, expect, test } from '@jest/globals';
import { framework, sameDatabase, servers } from './servers.js';
import type { ServerFacts } from '../facts/read-server.js';
import type { MoveScope } from '../../move-request.js';
import type { Facts } from './facts.js';

const SERVER: ServerFacts = {
  version: '18.1',
  versionNumber: 180_001,
  standby: false,
  readOnly: false,
  identity: '1 2',
  encoding: 'UTF8',
  collation: 'C (builtin)',
  hash: '3',
  slots: true,
};

/** A source as it should be, and a destination that differs. */
const facts = (there: Partial<ServerFacts>, scope: MoveScope = { keys: ['acme'] }): Facts =>
  ({
    names: { source: 'a', destination: 'b' },
    rows: { scope, keyKind: 'text', kept: [] },
    source: { server: SERVER },
    destination: { server: { ...SERVER, identity: '1 3', ...there } },
  }) as unknown as Facts;

describe('servers', () => {
  test.each<[Partial<ServerFacts>, string[]]>([
    [{}, []],
    [
      { standby: true, readOnly: true },
      ['error: b is a standby and takes no writes: name its primary in the configuration'],
    ],
    [
      { readOnly: true },
      ['error: b is set read-only (default_transaction_read_only): look why, and reset it'],
    ],
    [
      { encoding: 'LATIN1' },
      ['error: a has the encoding UTF8 and b LATIN1: move to a database with the same encoding'],
    ],
    [
      { hash: '4' },
      [
        'error: a and b hash the same text differently (hashtextextended), so that copies cannot be proven: bring both servers to one version and platform',
      ],
    ],
    [{ version: '18.0', versionNumber: 180_000 }, []],
    [{ version: '19.0', versionNumber: 190_000 }, []],
    [
      { version: '17.9', versionNumber: 170_009 },
      ['warning: b runs PostgreSQL 17.9, which is older than 18.1 of a: values can be refused there'],
    ],
    [
      { collation: 'en-US (icu)' },
      ['warning: texts are ordered by C (builtin) on a and by en-US (icu) on b'],
    ],
  ])('%j', (there, findings) =>
    expect(servers(facts(there)).map(({ severity, message }) => `${severity}: ${message}`)).toEqual(findings),
  );
});

test('one database is told by its number and by the start of its server', () => {
  expect(sameDatabase(facts({}))).toEqual([]);
  expect(sameDatabase(facts({ identity: '1 2' })).map(({ message }) => message)).toEqual([
    'a and b are the same database, by two URLs: correct the configuration',
  ]);
});

test('only whole slots need the functions of the framework', () => {
  expect(framework(facts({ slots: false }))).toEqual([]);
  expect(framework(facts({ slots: false }, { slots: [1] })).map(({ message }) => message)).toEqual([
    'b lacks the function _sharding_slot: run shardctl migrate',
  ]);
});
