import { expect, test } from '@jest/globals';
import { parity } from './parity.js';

const side = { system: '7', database: 'shard0', migrations: ['First1', 'Second2'] };
const SAME = { same: true };
const not = (reason: string) => ({ same: false, reason });

test.each([
  ['a copy', side, side, SAME],
  ['no migrations on either', { ...side, migrations: [] }, { ...side, migrations: [] }, SAME],
  ['the same in another order', side, { ...side, migrations: ['Second2', 'First1'] }, SAME],
  ['an identity that the primary does not tell', { ...side, system: undefined }, side, SAME],
  ['an identity that the replica does not tell', side, { ...side, system: undefined }, SAME],
  ['another server', side, { ...side, system: '8' }, not('it is a copy of another server')],
  ['another database', side, { ...side, database: 'shard1' }, not('it is another database')],
  ['one migration less', side, { ...side, migrations: ['First1'] }, not('lacks migration Second2')],
  ['an earlier one less', side, { ...side, migrations: ['Second2'] }, not('lacks migration First1')],
  ['none at all', side, { ...side, migrations: [] }, not('lacks migration Second2')],
  [
    'one more',
    side,
    { ...side, migrations: [...side.migrations, 'Third3'] },
    not('has a migration that the primary has not'),
  ],
  ['another one', side, { ...side, migrations: ['First1', 'Third3'] }, not('lacks migration Second2')],
])('%s', (_what, primary, replica, verdict) => expect(parity(primary, replica)).toEqual(verdict));
