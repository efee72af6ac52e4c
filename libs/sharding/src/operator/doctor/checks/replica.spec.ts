import { expect, it } from '@jest/globals';
import { replicaVerdicts, type ReplicaCase } from './replica.js';

const following: ReplicaCase['replica'] = {
  recovering: true,
  lsn: '0/100',
  ageMs: 20_000,
  receiving: true,
  paused: false,
  system: '7',
};
const primary = { lsn: '0/100', system: '7' };

it.each<[string, Partial<ReplicaCase>, string[]]>([
  ['caught up on an idle primary', {}, []],
  [
    'behind',
    { primary: { ...primary, lsn: '1/0' } },
    ['warning is behind: 4294967040 bytes and 20.0 s; more than 10000 ms'],
  ],
  [
    'behind for a short time',
    { primary: { ...primary, lsn: '1/0' }, replica: { ...following, ageMs: 9000 } },
    [],
  ],
  [
    'behind what the configuration allows',
    { maxLagMs: 5000, primary: { ...primary, lsn: '0/101' }, replica: { ...following, ageMs: 5001 } },
    ['warning is behind: 1 bytes and 5.0 s; max_replica_lag_ms is 5000 ms'],
  ],
  ['of a primary that is dead', { primary: undefined }, []],
  [
    'of a dead primary, later than allowed',
    { primary: undefined, maxLagMs: 1000 },
    ['warning is behind: 20.0 s; max_replica_lag_ms is 1000 ms'],
  ],
  [
    'of another primary',
    { primary: { ...primary, system: '8' }, replica: { ...following, receiving: false } },
    ['error follows another server than the primary that is configured beside it'],
  ],
  ['of a primary that does not say which it is', { primary: { ...primary, system: undefined } }, []],
  [
    'paused',
    { replica: { ...following, paused: true, receiving: false } },
    ['warning applies nothing: its replay is paused'],
  ],
  [
    'cut off',
    { replica: { ...following, receiving: false } },
    ['warning is connected to no primary: it receives nothing by streaming'],
  ],
])('a replica %s', (_what, change, expected) => {
  const found = replicaVerdicts({ target: 'r', maxLagMs: 0, replica: following, primary, ...change });
  expect(found.map(({ severity, reason }) => `${severity} ${reason}`)).toEqual(expected);
});
