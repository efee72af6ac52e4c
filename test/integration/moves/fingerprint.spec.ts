import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
// oxlint-disable no-restricted-imports -- parts of a move are nobody's interface; their tests reach them here alone
import { contentOf, differences } from '../../../libs/sharding/src/moves/content.js';
import { newSeeds } from '../../../libs/sharding/src/moves/fingerprint.js';
import { sessionOf, type MoveSession } from '../../../libs/sharding/src/moves/move-session.js';
import { movedTables } from '../../../libs/sharding/src/moves/tables/read-tables.js';
import { TestCluster } from '../../support/test-cluster.js';

/** Contents that are near to each other, and are not the same. */
let session: MoveSession;

const TABLES = [
  `create type pair as (x int, y int)`,
  `create type mood as enum ('sad', 'happy')`,
  `create function always_ok(mood) returns text immutable language sql as $$ select 'ok' $$`,
  `create cast (mood as text) with function always_ok(mood)`,
  `create table cells (tenant_id text not null, a text, b text, c varchar(9), p pair, m mood, n bpchar)`,
  `create table wide (tenant_id text not null, ${Array.from({ length: 1599 }, (_, at) => `c${at} bool`).join(', ')})`,
];

beforeAll(async () => {
  const url = await TestCluster.attach().createDatabase({ label: 'fingerprint' });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const statement of TABLES) await client.query(statement);
  session = await sessionOf(client);
});

afterAll(() => session.client.end());

const SEEDS = newSeeds();

/** What the table contains once it contains just these rows. */
async function contentWith(table: string, ...rows: string[]) {
  await session.client.query(`truncate public.${table}`);
  for (const row of rows) await session.client.query(`insert into public.${table} ${row}`);
  const tables = await movedTables(session, { tables: [table], keyColumn: 'tenant_id' });
  const moved = { scope: { keys: ['acme'] }, keyKind: 'text', kept: [] } as const;
  return contentOf(session, { tables, rows: moved }, SEEDS);
}

const cell = (columns: string, values: string) => `(tenant_id, ${columns}) values ('acme', ${values})`;
const texts = (values: string) => [cell('a, b, c', values)];

it.each([
  ['a text and none', texts(`'', 'x', 'x'`), texts(`null, 'x', 'x'`)],
  ['values that stand one column further', texts(`'x', null, null`), texts(`null, 'x', null`)],
  ['values that stand two columns further', texts(`'x', null, null`), texts(`null, null, 'x'`)],
  ['values divided otherwise', texts(`'xy', 'z', null`), texts(`'x', 'yz', null`)],
  ['columns exchanged', texts(`'x', 'y', null`), texts(`'y', 'x', null`)],
  [
    'values exchanged between two rows',
    [...texts(`'1', 'x', null`), ...texts(`'2', 'y', null`)],
    [...texts(`'1', 'y', null`), ...texts(`'2', 'x', null`)],
  ],
  [
    'another row twice',
    [...texts(`'1', null, null`), ...texts(`'1', null, null`), ...texts(`'2', null, null`)],
    [...texts(`'1', null, null`), ...texts(`'2', null, null`), ...texts(`'2', null, null`)],
  ],
  ['no row value, and one of nulls', [cell('p', 'null')], [cell('p', 'row(null, null)')]],
  ['row values with a null in them', [cell('p', 'row(null, 1)')], [cell('p', 'row(null, 2)')]],
  ['values of one text by a cast', [cell('m', `'sad'`)], [cell('m', `'happy'`)]],
  ['blanks that a cast to text cuts off', [cell('n', `'x'`)], [cell('n', `'x '`)]],
])('tells apart %s', async (_name, some, others) => {
  const content = await contentWith('cells', ...some);
  expect(differences(content, await contentWith('cells', ...some.toReversed()))).toEqual([]);
  expect(differences(content, await contentWith('cells', ...others))).toHaveLength(1);
});

it('reads a table of as many columns as there can be', async () => {
  const [one, other] = [cell('c0, c1598', 'true, false'), cell('c0, c1598', 'true, null')];
  const content = await contentWith('wide', one);
  expect(differences(content, await contentWith('wide', one))).toEqual([]);
  expect(differences(content, await contentWith('wide', other))).toHaveLength(1);
});
