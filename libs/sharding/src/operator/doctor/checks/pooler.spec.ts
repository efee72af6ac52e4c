import { expect, it } from '@jest/globals';
import { poolerVerdicts } from './pooler.js';

const AROUND =
  'is reached through a pooler only (pooler = "transaction", no maintenance_url): it cannot be migrated';

it.each([
  ['none', 'url', 'none', false, []],
  [
    'none',
    'url',
    'transaction',
    false,
    [
      'error a pooler in transaction mode stands in between and pooler = "none" is configured: settings, LISTEN and locks of a session end up in sessions of others',
    ],
  ],
  [
    'none',
    'url',
    'session',
    false,
    [
      'info a pooler in session mode stands in between: its own limits of connections count, not max_connections',
    ],
  ],
  [
    'none',
    'url',
    'unknown',
    false,
    [
      'info a pooler that has no session to spare stands in between: its own limits of connections count, not max_connections',
    ],
  ],
  ['transaction', 'url', 'transaction', true, []],
  ['transaction', 'url', 'session', true, []],
  ['transaction', 'url', 'transaction', false, [`warning ${AROUND}`]],
  [
    'transaction',
    'url',
    'none',
    true,
    [
      'info pooler = "transaction" is configured and the connection is direct: sessions are used more carefully than they need to be',
    ],
  ],
  ['transaction', 'maintenance_url', 'none', true, []],
  ['transaction', 'maintenance_url', 'session', true, []],
  [
    'transaction',
    'maintenance_url',
    'transaction',
    true,
    [
      'error its maintenance_url leads through a pooler in transaction mode: LISTEN, locks and migrations fail',
    ],
  ],
] as const)(
  'pooler = %s; by its %s %s is found; with a maintenance_url: %s',
  (configured, way, found, hasMaintenanceUrl, expected) => {
    const given = { target: 't', role: 'primary', configured, way, found, hasMaintenanceUrl } as const;
    const verdicts = poolerVerdicts(given);
    expect(verdicts.map(({ severity, reason }) => `${severity} ${reason}`)).toEqual(expected);
  },
);

it('asks for no way around the pooler of a replica, which is not migrated', () => {
  const given = { target: 't', configured: 'transaction', way: 'url', found: 'transaction' } as const;
  expect(poolerVerdicts({ ...given, role: 'replica', hasMaintenanceUrl: false })).toEqual([]);
});
