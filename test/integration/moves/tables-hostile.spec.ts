import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { judging, movedTables, openPair, SIDES, type Pair } from './preflight-pair.js';

/** Names and tenants that would do harm as SQL, in a shell, or as something else than they are. */
const HOSTILE = [
  `x; drop table victims--`,
  `victims; drop table victims`,
  `victims where true --`,
  `victims"; drop table victims; --`,
  `"victims"`,
  `"public"."victims"`,
  `public."victims"`,
  `victims" where true --`,
  `victims) to program 'touch /tmp/owned' --`,
  `(select * from victims)`,
  `(delete from victims returning *)`,
  `only victims`,
  `victims *`,
  `victims v`,
  `victims as t`,
  `victims, others`,
  `victims union all select * from others`,
  `victims tablesample system (1)`,
  `lateral victims`,
  `victims/**/`,
  `/* */victims`,
  `victims--`,
  `victims\n;drop table victims;`,
  `victims\\`,
  `\\! touch /tmp/owned`,
  `$(touch /tmp/owned)`,
  '`touch /tmp/owned`',
  `$$ victims $$`,
  `$1`,
  `:victims`,
  `%I`,
  `%s%s%s`,
  `%L`,
  `a' or '1'='1`,
  `' or true --`,
  `'; drop table victims; --`,
  `\\'; drop table victims; --`,
  `{acme,globex}`,
  `{"acme"`,
  `null`,
  `NULL`,
  `true`,
  `*`,
  `%`,
  `_ictims`,
  ``,
  ` victims`,
  `victims `,
  `VICTIMS`,
  `vi\u200Bctims`,
  `vict\u0456ms`,
  `victims\0`,
  `\0`,
  `\uD800`,
  `\r\n\t\v\u001B[2J`,
  `__proto__`,
  `constructor`,
  `pg_catalog.pg_class`,
  `information_schema.tables`,
  `public.public.victims`,
  `.victims`,
  `victims.`,
  `1`,
  `victims`.repeat(10),
  'v'.repeat(100_000),
];

let pair: Pair;
beforeAll(async () => {
  pair = await openPair();
  await pair.reset();
  await pair.run(
    'both',
    `create table victims (id int primary key, tenant_id text); create table others (id int primary key, tenant_id text);
    insert into others select n, 'globex' from generate_series(1, 20) n`,
  );
});
afterAll(() => pair.close());

const judge = judging(() => pair);

/** Everything that both databases hold. */
async function everything(): Promise<string[]> {
  const hashes: string[] = [];
  for (const side of SIDES) {
    const { rows } = await pair.admins[side].query<{ hash: string }>(`select md5(concat(
      (select string_agg(t::text, ',' order by t.id) from public.victims t),
      (select string_agg(t::text, ',' order by t.id) from public.others t),
      (select string_agg(c.oid || c.relname, ',' order by c.oid) from pg_class c))) as hash`);
    hashes.push(rows[0]?.hash ?? '');
  }
  return hashes;
}

const shown = (name: string) => {
  const text = JSON.stringify(name);
  return text.length > 80 ? `${text.slice(0, 80)}..."` : text;
};
const refusal = (tables: readonly string[] | undefined, keyColumn: string) =>
  movedTables(pair.source, { tables, keyColumn }).then(
    () => 'none',
    ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
  );

test('no hostile name is a table', async () => {
  const before = await everything();
  for (const name of HOSTILE) {
    expect(await refusal([name], 'tenant_id')).toBe(
      `move_refused: no such table: ${shown(name)}; tables with "tenant_id": public.others, public.victims`,
    );
  }
  expect(await refusal(HOSTILE, 'tenant_id')).toBe(
    `move_refused: no such table: ${HOSTILE.map(shown).join(', ')}; tables with "tenant_id": public.others, public.victims`,
  );
  expect(await everything()).toEqual(before);
});

test('no catalog is a table, whatever the key', async () => {
  expect(await refusal(['pg_catalog.pg_class', 'information_schema.tables'], 'relname')).toBe(
    'move_refused: no such table: "pg_catalog.pg_class", "information_schema.tables"; no table of the search path has a column "relname"',
  );
});

test('no hostile name is a column', async () => {
  const before = await everything();
  for (const name of HOSTILE) {
    const none = `no table of the search path has a column ${shown(name)}`;
    expect(await refusal(undefined, name)).toBe(`move_refused: ${none}`);
    expect(await refusal(['victims'], name)).toBe(
      `move_refused: "victims" has no column ${shown(name)}; ${none}`,
    );
  }
  expect(await everything()).toEqual(before);
});

test('a hostile tenant is the tenant of that name alone', async () => {
  const tenants = HOSTILE.filter((name) => !/[\0\p{Cs}]/u.test(name));
  await pair.admins.destination.query(
    'insert into victims select n, ($1::text[])[n] from generate_series(1, $2) n',
    [tenants, tenants.length],
  );
  const before = await everything();
  for (const tenant of tenants) {
    expect(await judge({ keys: [tenant], tables: ['victims'] })).toEqual([
      'error rows: public.victims: shard1 has 1 row of the moved keys already: see where they came from (shardctl audit), and remove them',
    ]);
  }
  expect(await judge({ keys: tenants, tables: ['victims'] })).toEqual([
    `error rows: public.victims: shard1 has ${tenants.length} rows of the moved keys already: see where they came from (shardctl audit), and remove them`,
  ]);
  expect(await everything()).toEqual(before);
});

test.each(['a\0b', '\uD800'])('%j, which no column holds, is refused', async (tenant) => {
  expect(await judge({ keys: [tenant], tables: ['victims'] })).toEqual([
    `error key: public.victims: the key column "tenant_id" is text, and no value of it has the text ${JSON.stringify(tenant)}: give keys as the column shows them`,
  ]);
});
