import { beforeAll, describe, expect, it } from '@jest/globals';
import { TestCluster, waitFor } from '@test/support';
import { Shardctl } from '../../support/shardctl.js';
import { deployed, tomlOf, type Deployed } from './deployed.js';

const shardctl = Shardctl.attach();
let place: Deployed;
beforeAll(async () => {
  place = await deployed();
  await place.query(0, `insert into notes (tenant_id, body) values ('acme', 'one'), ('acme', 'two')`);
  await place.query(1, `insert into notes (tenant_id, body) values ('globex', 'three')`);
});

const run = (args: readonly string[], toml = place.toml) => shardctl.run(['query', ...args], { toml });
const json = async (args: readonly string[], toml = place.toml) => {
  const { code, out, err } = await run([...args, '--json'], toml);
  return { code, err, out: JSON.parse(out) as unknown };
};
const oneDead = () => tomlOf({ shards: ['postgres://app:hush@127.0.0.1:1/gone', place.shards[1] ?? ''] });

it('shows the rows of every shard', async () => {
  expect(await run(['select tenant_id, body from notes order by body'])).toEqual({
    code: 0,
    err: '',
    out: [
      'shard0: 2 rows',
      'tenant_id  body',
      'acme       one',
      'acme       two',
      '',
      'shard1: 1 row',
      'tenant_id  body',
      'globex     three',
      '',
    ].join('\n'),
  });
});

it('merges them into one table with the shard in front', async () => {
  expect(await run(['select tenant_id, count(*)::int as notes from notes group by 1', '--merge'])).toEqual({
    code: 0,
    err: '',
    out: ['shard   tenant_id  notes', 'shard0  acme           2', 'shard1  globex         1', ''].join('\n'),
  });
});

it('says the same as JSON', async () => {
  const shard = { ok: true, command: 'SELECT', row_count: 1, columns: ['notes'], truncated: false };
  expect(await json(['select count(*)::int as notes from notes'])).toEqual({
    code: 0,
    err: '',
    out: {
      shards: [
        { shard: 'shard0', ...shard, rows: [{ notes: 2 }] },
        { shard: 'shard1', ...shard, rows: [{ notes: 1 }] },
      ],
    },
  });
  expect(await json(['select count(*)::int as notes from notes', '--merge'])).toEqual({
    code: 0,
    err: '',
    out: {
      columns: ['shard', 'notes'],
      rows: [
        { shard: 'shard0', notes: 2 },
        { shard: 'shard1', notes: 1 },
      ],
      truncated: [],
      failed: [],
    },
  });
});

it('keeps what the types of JavaScript would lose', async () => {
  const sql = `select 9007199254740993 as big, 1.10::numeric as exact, 1.5::float8 as float, 'NaN'::float8 as nan, true as yes,
    null::text as nothing, '{"a":[1]}'::jsonb as json, '2026-01-02 03:04:05.678901'::timestamp as at, 1 as same, 2 as same, array[1,2] as list`;
  const { out } = await json([sql, '--shard', 'shard0']);
  expect(out).toMatchObject({
    shards: [
      {
        columns: ['big', 'exact', 'float', 'nan', 'yes', 'nothing', 'json', 'at', 'same', 'same_2', 'list'],
        rows: [
          {
            big: '9007199254740993',
            exact: '1.10',
            float: 1.5,
            nan: 'NaN',
            yes: true,
            nothing: null,
            json: { a: [1] },
            at: '2026-01-02 03:04:05.678901',
            same: 1,
            same_2: 2,
            list: '{1,2}',
          },
        ],
      },
    ],
  });
});

describe('reads only', () => {
  it.each([
    [
      `insert into notes (tenant_id, body) values ('x', 'y')`,
      'cannot execute INSERT in a read-only transaction',
    ],
    [
      `select set_config('transaction_read_only', 'off', true)`,
      'transaction read-write mode must be set before',
    ],
    ['set transaction read write', 'transaction read-write mode must be set before any query'],
    [
      `do $$ begin commit; insert into notes (tenant_id, body) values ('x', 'y'); end $$`,
      'invalid transaction termination',
    ],
    [
      'with gone as (delete from notes returning 1) select * from gone',
      'cannot execute SELECT in a read-only transaction',
    ],
    ['vacuum notes', 'VACUUM cannot'],
  ])('refuses %s', async (sql, why) => {
    const { code, out } = await run([sql, '--shard', 'shard0']);
    expect({ code, out }).toEqual({ code: 1, out: expect.stringContaining(why) });
    expect(await place.query(0, 'select count(*)::int as n from notes')).toEqual([{ n: 2 }]);
  });

  it('says how to write', async () => {
    expect(await run(['delete from notes', '--shard', 'shard0'])).toEqual({
      code: 1,
      err: '',
      out: 'shard0: FAILED, cannot execute DELETE in a read-only transaction; to change rows say --write (25006)\n',
    });
  });
});

it.each([
  ['select 1; drop table notes', 'one statement at a time, not 2; nothing was sent'],
  [' ; -- nothing', 'there is no statement in the SQL'],
  ['', 'there is no statement in the SQL'],
])('refuses %j before anybody is asked', async (sql, why) => {
  expect(await run([sql])).toEqual({ code: 2, out: '', err: `shardctl: ${why} (see shardctl --help)\n` });
});

it('takes semicolons that separate nothing', async () => {
  expect((await run([`select ';' as a /* ; */ ; -- ;`, '--shard', 'shard0'])).out).toBe(
    'shard0: 1 row\na\n;\n',
  );
});

it('names the shard that fails and shows the others', async () => {
  expect(await run(['select count(*)::int as n from notes'], oneDead())).toEqual({
    code: 1,
    err: '',
    out: 'shard0: FAILED, nothing listens there: is the server running? (ECONNREFUSED)\n\nshard1: 1 row\nn\n1\n',
  });
  expect(await json(['select count(*)::int as n from notes', '--merge'], oneDead())).toEqual({
    code: 1,
    err: '',
    out: {
      columns: ['shard', 'n'],
      rows: [{ shard: 'shard1', n: 1 }],
      truncated: [],
      failed: [
        {
          shard: 'shard0',
          error: { code: 'ECONNREFUSED', message: 'nothing listens there: is the server running?' },
        },
      ],
    },
  });
});

it('tells what the server says of a wrong statement', async () => {
  expect(await run(['select * from no_such', '--shard', 'shard0'])).toEqual({
    code: 1,
    err: '',
    out: 'shard0: FAILED, relation "no_such" does not exist (42P01)\n',
  });
});

it('does not merge rows under foreign headings', async () => {
  const fresh = await deployed();
  await fresh.query(1, 'alter table notes rename body to text');
  const { code, out } = await json(['select * from notes', '--merge'], fresh.toml);
  expect({ code, out }).toEqual({
    code: 1,
    out: {
      columns: ['shard', 'id', 'tenant_id', 'body'],
      rows: [],
      truncated: [],
      failed: [
        {
          shard: 'shard1',
          error: {
            code: 'different_columns',
            message: 'its columns are not those of the first shard: id, tenant_id, text',
          },
        },
      ],
    },
  });
});

it('fetches no more rows than it is told', async () => {
  expect(await run(['select generate_series(1, 1000000) as n', '--shard', 'shard0', '--limit', '2'])).toEqual(
    {
      code: 0,
      err: 'shardctl: there are more rows on shard0; see --limit\n',
      out: 'shard0: the first 2 rows\nn\n1\n2\n',
    },
  );
  expect(await run(['select generate_series(1, 2) as n', '--shard', 'shard0', '--limit', '2'])).toEqual({
    code: 0,
    err: '',
    out: 'shard0: 2 rows\nn\n1\n2\n',
  });
});

it('bounds the statement on the server', async () => {
  expect(await run(['select pg_sleep(60)', '--shard', 'shard0', '--timeout', '0.2'])).toEqual({
    code: 1,
    err: '',
    out: 'shard0: FAILED, it was not done within 0.2 s; see --timeout (57014)\n',
  });
});

it('cancels on the server when it is interrupted, and exits with 130', async () => {
  const fresh = await deployed();
  const sleeping = `select count(*)::int as n from pg_stat_activity where query like '%pg_sleep(61)%' and state = 'active'
    and pid <> pg_backend_pid() and datname = current_database()`;
  const count = async () => Number((await fresh.query(0, sleeping))[0]?.['n']);
  const end = await shardctl.run(['query', 'select pg_sleep(61)'], {
    toml: fresh.toml,
    interruptAfter: () =>
      waitFor(async () => (await count()) === 1, { what: 'the statement', timeoutMs: 15_000 }),
  });
  expect(end).toEqual({ code: 130, out: '', err: '' });
  await waitFor(async () => (await count()) === 0, { what: 'the end of the statement' });
});

it('leaves no connection behind', async () => {
  const fresh = await deployed(1);
  await run(['select 1'], fresh.toml);
  await waitFor(async () => (await TestCluster.attach().connections(fresh.shards[0] ?? '')) === 0, {
    what: 'the end',
  });
});
