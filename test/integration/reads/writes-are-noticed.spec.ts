import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { withClient } from '../../support/admin-query.js';
import { REPLICATED, ReadingApp, ReplicatedDeployment, servedBy } from '../../support/replicated.js';
import type pg from 'pg';

/** Whatever SQL looks like: where it has written, PostgreSQL says so, and then a replica that lags must not serve the reader. */
let servers: ReplicatedDeployment;
let reading: ReadingApp;

beforeAll(async () => {
  servers = await ReplicatedDeployment.start();
  await servers.primary.query(
    `create schema app; create sequence calls;
      create function f(int default 0) returns int language sql begin atomic select nextval('calls')::int; end;
      create function app.abs(int) returns int language sql begin atomic select nextval('calls')::int; end;
      create function "F x"() returns int language sql begin atomic select nextval('calls')::int; end`,
    [],
    'shard0',
  );
  await servers.untilCaughtUp();
  reading = await ReadingApp.boot(servers.options({ causalWaitMs: 1 }));
  await reading.untilReplicaServes();
  await servers.replica.pauseReplay();
});

afterAll(async () => {
  await reading.close();
  await servers.dispose();
});

const WORDS =
  `f() f(1) "f"() app.abs(1) "Fx"() f/**/() '' ' " e' E' N' \\ \\' $$ $a$ $b$ $é$ x$a$ $1 _ -- /* */ /*/ ;
  select x , ( ) + 1 'a' "b" x.y ::text abs(1) where`.split(/\s+/);
const PHRASES = ['f (2)', 'app . abs(1)', 'f--\n()', '"F x"()', '\n', '\r', ' ', '\u00a0', '\v', 'select 1'];
const CLAUSES = ['with x as (select 1)', 'values (1)', 'as x', 'from notes', ' as "c"', 'union all'];
/** Each may stand in a list of what is selected. */
const VALUES = ['f()', 'f/* ( */(1)', '"F x"()', 'app . abs(1)', "''''", "'\\'", "e'\\''", `$a$ ' $b$ $a$`];
const HIDING = [
  `$é$ ' $é$`,
  `1 /* ' */`,
  '1 /* /* */ " */',
  `1 -- '${'\n'}`,
  `1 -- "${'\r'}`,
  `1 as "'"`,
  `null as a$b$`,
];

it('no mix of quotes, comments and calls hides a write from a reader', async () => {
  const piece = fc.constantFrom(...WORDS, ...PHRASES, ...CLAUSES);
  const value = fc.constantFrom(...VALUES, ...HIDING);
  const list = fc.array(fc.oneof({ weight: 9, arbitrary: value }, piece), { minLength: 1, maxLength: 5 });
  const soup = fc.oneof(
    list.map((values) => `select ${values.join(', ')}`),
    fc.array(piece, { minLength: 1, maxLength: 9 }).map((pieces) => `select 1 ${pieces.join('')}`),
  );
  await withClient(servers.primary.url('shard0'), async (client) => {
    let writes = 0;
    const property = fc.asyncProperty(soup, async (sql) => {
      const before = await calls(client);
      await reading.inContext(async (db) => {
        await db.query(sql).catch(() => undefined); // most are no SQL at all
        if ((await calls(client)) === before) return;
        writes++;
        expect(await servedBy(await reading.shards.readFor(REPLICATED)).catch(String)).toMatch(/^primary$/);
      });
    });
    await fc.assert(property, { numRuns: 2000 });
    expect(writes).toBeGreaterThan(100);
  });
}, 60_000);

async function calls(client: pg.Client): Promise<string | undefined> {
  const sql = 'select last_value, is_called from calls';
  return JSON.stringify((await client.query<object>(sql)).rows[0]);
}
