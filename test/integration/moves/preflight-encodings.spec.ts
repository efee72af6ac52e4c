import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { slotOf } from '@app/routing';
import { TestCluster } from '@test/support';
import pg from 'pg';
import { withDatabase } from '../../support/admin-query.js';
import { MovingFleet } from '../../support/moving-fleet.js';
import { judging, openPair, type MoveSession, type Pair } from './preflight-pair.js';
import { sessionOf } from '@app/sharding/operator';

/** Databases of one server, and of other encodings: what is a text in one may be none in the other. */
const ENCODINGS = ['SQL_ASCII', 'LATIN1'] as const;
const cluster = TestCluster.attach();
const urls: string[] = [];
const clients: pg.Client[] = [];
let pair: Pair;

beforeAll(async () => {
  pair = await openPair();
  await pair.run('source', 'create table t (id int primary key, tenant_id text not null)');
});
afterAll(async () => {
  await pair.close();
  for (const client of clients) await client.end();
  for (const url of urls) await cluster.dropDatabase(url);
});

/** Without the data that `template1` has in the encoding of the server. */
async function databaseOf(encoding: string): Promise<string> {
  const name = `encoded_${encoding.toLowerCase()}_${randomUUID().slice(0, 8)}`;
  await cluster.query(`create database ${name} template template0 encoding '${encoding}' locale 'C'`);
  const url = withDatabase(pair.urls.source, name);
  urls.push(url);
  return url;
}

async function sessionWithTable(encoding: string): Promise<MoveSession> {
  const client = new pg.Client({ connectionString: await databaseOf(encoding) });
  clients.push(client);
  await client.connect();
  await client.query('create table t (id int primary key, tenant_id text not null)');
  return sessionOf(client);
}

const errors = (findings: readonly string[]) => findings.filter((finding) => finding.startsWith('error'));

test.each(ENCODINGS)('a destination in %s is refused, and so is a source', async (encoding) => {
  const judge = judging(() => pair);
  const other = await sessionWithTable(encoding);
  expect(errors(await judge({ sessions: { destination: other } }))).toEqual([
    `error server: shard0 has the encoding UTF8 and shard1 ${encoding}: move to a database with the same encoding`,
  ]);
  expect(errors(await judge({ sessions: { source: other, destination: pair.source } }))).toEqual([
    `error server: shard0 has the encoding ${encoding} and shard1 UTF8: move to a database with the same encoding`,
  ]);
  const same = await sessionWithTable(encoding);
  expect(errors(await judge({ sessions: { source: other, destination: same } }))).toEqual([]);
});

test('nothing is begun of a move to one', async () => {
  const fleet = await MovingFleet.create({ last: await databaseOf('LATIN1') });
  const [acme = ''] = Array.from({ length: 50 }, (_, n) => `tenant-${n}`).filter((key) => slotOf(key) < 8192);
  await fleet.query(0, `insert into bookmarks (tenant_id, url) values ($1, 'https://x.test/ü€')`, [acme]);
  await expect(fleet.move({ keys: [acme] })).rejects.toMatchObject({
    code: 'move_refused',
    message: 'shard0 has the encoding UTF8 and shard1 LATIN1: move to a database with the same encoding',
  });
  expect(await fleet.query('control', 'select from _sharding_moves')).toEqual([]);
});
