import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CONTROL_MIGRATIONS, SHARD_MIGRATIONS } from '@app/sharding';
import { TestCluster, expectNoConnections } from '@test/support';
import { runOnce } from '../../support/admin-query.js';
import { Shardctl, type ShardctlEnd } from '../../support/shardctl.js';

const CONTROL = CONTROL_MIGRATIONS.map(({ name }) => name);
const SHARD = SHARD_MIGRATIONS.map(({ name }) => name);
const ONE = 'CreateNotes1700000000001';
const TWO = 'IndexNotes1700000000002';

jest.setTimeout(90_000); // each call loads TypeORM and NestJS

const cluster = TestCluster.attach();
let shardctl: Shardctl;
let urls: string[];
let cwd: string;

beforeAll(async () => {
  shardctl = await Shardctl.build();
});
afterAll(() => shardctl.dispose());
beforeEach(async () => {
  urls = [];
  for (const label of ['control', 'shard0', 'shard1', 'shard2'])
    urls.push(await cluster.createDatabase({ label }));
  cwd = await shardctl.workingDirectory(toml());
  await mkdir(join(cwd, 'migrations'));
  await migration(ONE, 'create table notes (id uuid)', 'drop table notes');
});

function toml(profile = ''): string {
  const [control, ...shards] = urls;
  return [
    `[database]\nprimary_url = "${control}"\nconnect_timeout_ms = 2000`,
    ...shards.map((url, index) => `[[database.shards]]\nname = "shard${index}"\nprimary_url = "${url}"`),
    '[migrations]\nshards = ["migrations/*.mjs"]',
    profile,
  ].join('\n');
}

async function migration(name: string, up: string, down = 'select 1', more = ''): Promise<void> {
  const text = `export class ${name} { ${more} async up(r) { await r.query(${JSON.stringify(up)}); } async down(r) { await r.query(${JSON.stringify(down)}); } }`;
  await writeFile(join(cwd, 'migrations', `${name}.mjs`), text);
}

const run = (...args: string[]) => shardctl.run(['migrate', ...args], { cwd });

/** Times are not the same twice, nor are the columns that depend on them. */
function steady({ code, out, err }: ShardctlEnd) {
  const text = out.replaceAll(/\d+ ms/g, 'N ms').replaceAll(/ {2,}/g, '  ');
  return { code, out: text.trimEnd().split('\n'), err: err.trimEnd().split('\n') };
}

const targets = (out: string) => (JSON.parse(out) as { targets: Record<string, unknown>[] }).targets;

describe('migrate', () => {
  it('tells every target and a summary, and does nothing the second time', async () => {
    expect(steady(await run())).toEqual({
      code: 0,
      out: [
        'target  state  applied  time  problem',
        `control  done  ${CONTROL.length}  N ms  -`,
        `shard:shard0  done  ${SHARD.length + 1}  N ms  -`,
        `shard:shard1  done  ${SHARD.length + 1}  N ms  -`,
        `shard:shard2  done  ${SHARD.length + 1}  N ms  -`,
      ],
      err: [
        `target=control applied ${CONTROL.join(', ')}`,
        ...[0, 1, 2].map((shard) => `target=shard:shard${shard} applied ${[...SHARD, ONE].join(', ')}`),
      ],
    });
    expect(steady(await run())).toEqual({
      code: 0,
      out: [
        'target  state  applied  time  problem',
        'control  skipped  0  N ms  -',
        'shard:shard0  skipped  0  N ms  -',
        'shard:shard1  skipped  0  N ms  -',
        'shard:shard2  skipped  0  N ms  -',
      ],
      err: ['control', 'shard:shard0', 'shard:shard1', 'shard:shard2'].map(
        (target) => `target=${target} up to date`,
      ),
    });
    for (const url of urls) await expectNoConnections(url);
  });

  it('stops at a migration that fails on one shard, and goes on when the cause is mended', async () => {
    await runOnce(urls[2]!, 'create table notes (id int)');
    const { code, out, err } = await run('--json');
    const time = expect.any(Number) as unknown;
    expect({ code, out: targets(out) }).toEqual({
      code: 1,
      out: [
        { target: 'control', state: 'done', applied: CONTROL, interleaved: [], ms: time, error: null },
        {
          target: 'shard:shard0',
          state: 'done',
          applied: [...SHARD, ONE],
          interleaved: [],
          ms: time,
          error: null,
        },
        {
          target: 'shard:shard1',
          state: 'failed',
          applied: SHARD,
          interleaved: [],
          ms: time,
          error: { code: '42P07', message: 'relation "notes" already exists', migration: ONE },
        },
        { target: 'shard:shard2', state: 'not_attempted', applied: [], interleaved: [], ms: 0, error: null },
      ],
    });
    expect(err.trimEnd().split('\n').slice(-3)).toEqual([
      `target=shard:shard1 failed in ${ONE} (42P07): relation "notes" already exists`,
      'target=shard:shard2 not attempted',
      'shardctl: the migrations of shard:shard1 failed; mend the cause and run again: targets before it are skipped',
    ]);
    await runOnce(urls[2]!, 'drop table notes');
    expect(steady(await run()).out.slice(2)).toEqual([
      'shard:shard0  skipped  0  N ms  -',
      'shard:shard1  done  1  N ms  -',
      `shard:shard2  done  ${SHARD.length + 1}  N ms  -`,
    ]);
  });

  it('does not hide a shard that is down', async () => {
    await cluster.dropDatabase(urls[2]!);
    expect(steady(await run()).out.slice(2)).toEqual([
      `shard:shard0  done  ${SHARD.length + 1}  N ms  -`,
      'shard:shard1  FAILED  0  N ms  shard "shard1" cannot be reached (3D000) (3D000)',
      'shard:shard2  not attempted  0  -  -',
    ]);
  });

  it('takes one shard, the control database, a canary that nobody is asked about, and several at once', async () => {
    const named = async (...args: string[]) =>
      targets((await run(...args, '--json')).out).map(({ target }) => target);
    expect(await named('--control-only')).toEqual(['control']);
    expect(await named('--shard', 'shard1')).toEqual(['shard:shard1']);
    const { code, out, err } = await run('--canary', 'shard2', '--yes', '--parallel', '2', '--json');
    expect([code, targets(out).map(({ state }) => state)]).toEqual([
      0,
      ['skipped', 'done', 'skipped', 'done'],
    ]);
    expect(err.split('\n')[1]).toMatch(/^target=shard:shard2 applied/);
  });

  it('refuses a command line that makes no sense, before anything is touched', async () => {
    const problem = async (...args: string[]) => {
      const { code, out, err } = await run(...args);
      return [code, out, err.trimEnd()];
    };
    const usage = (text: string) => [2, '', `shardctl: ${text} (see shardctl --help)`];
    expect(await problem('sideways')).toEqual([
      2,
      '',
      'shardctl: behind migrate stands nothing, status or down (see shardctl --help)',
    ]);
    expect(await problem('--to', ONE)).toEqual(usage('--to does not belong to migrate'));
    expect(await problem('status', '--parallel', '3')).toEqual(
      usage('--parallel does not belong to migrate status'),
    );
    expect(await problem('--canary', 'shard0')).toEqual(
      usage('--canary asks before it goes on, and nobody can answer here: say --yes'),
    );
    expect(await problem('--shard', 'shard9')).toEqual([
      1,
      '',
      'shardctl: unknown shard "shard9"; known shards: shard0, shard1, shard2',
    ]);
    await rm(join(cwd, 'migrations'), { recursive: true });
    expect(await problem()).toEqual([
      1,
      '',
      'shardctl: migrations.shards: migrations/*.mjs: no file matches, seen from the working directory',
    ]);
    expect(await runOnce(urls[0]!, `select to_regclass('_sharding_migrations') as table`)).toEqual([
      { table: null },
    ]);
  });

  it('waits for another migrator no longer than it is told', async () => {
    const { default: pg } = await import('pg');
    const other = new pg.Client({ connectionString: urls[0]! });
    await other.connect();
    await other.query(`select pg_advisory_lock(hashtextextended('nestjs-sharding.migrations', 0))`);
    const { code, err } = await run('--wait', '0.5');
    await other.end();
    expect(code).toBe(1);
    expect(
      err
        .replaceAll(/process \d+/g, 'process P')
        .split('\n')
        .slice(0, 2),
    ).toEqual([
      'target=control waiting for another migrator (process P of the server)',
      'target=control failed (deadline_exceeded): control is being migrated by another migrator (process P of the server), for longer than 0.5 s: wait for it, or end it',
    ]);
  });
});

describe('migrate status', () => {
  it('is one table, a row for each target, with the names that matter below', async () => {
    await run();
    expect(steady(await run('status'))).toEqual({
      code: 0,
      out: [
        'target  state  applied  pending  unknown  last  invalid indexes  problem',
        `control  up to date  ${CONTROL.length}  0  0  ${CONTROL.at(-1)}  -  -`,
        ...[0, 1, 2].map(
          (shard) => `shard:shard${shard}  up to date  ${SHARD.length + 1}  0  0  ${ONE}  -  -`,
        ),
      ],
      err: [''],
    });
    await migration(
      TWO,
      'create unique index concurrently notes_id on notes (id)',
      'select 1',
      'transaction = false;',
    );
    await runOnce(
      urls[2]!,
      `insert into notes values (gen_random_uuid()), ('00000000-0000-8000-8000-000000000000')`,
    );
    await runOnce(urls[2]!, `update notes set id = '00000000-0000-8000-8000-000000000000'`);
    await run('--parallel', '1');
    await runOnce(
      urls[1]!,
      `insert into migrations (timestamp, name) values (1700000000009, 'Newer1700000000009')`,
    );
    await cluster.dropDatabase(urls[3]!);
    const count = SHARD.length + 1;
    expect(steady(await run('status'))).toEqual({
      code: 1,
      out: [
        'target  state  applied  pending  unknown  last  invalid indexes  problem',
        `control  up to date  ${CONTROL.length}  0  0  ${CONTROL.at(-1)}  -  -`,
        `shard:shard0  UNKNOWN  ${count + 2}  0  1  Newer1700000000009  -  -`,
        `shard:shard1  PENDING  ${count}  1  0  ${ONE}  public.notes_id  -`,
        'shard:shard2  UNREACHABLE  -  -  -  -  -  shard "shard2" cannot be reached (3D000) (3D000)',
        'applied on shard:shard0 and not in the code: Newer1700000000009',
        `pending on shard:shard1: ${TWO}`,
      ],
      err: [''],
    });
  });

  it('has a stable shape in JSON, and writes nothing', async () => {
    const { code, out, err } = await run('status', '--json', '--shard', 'shard0');
    expect({ code, err, out: targets(out) }).toEqual({
      code: 1,
      err: '',
      out: [
        {
          target: 'shard:shard0',
          ok: false,
          applied: [],
          pending: [...SHARD, ONE],
          unknown: [],
          last: null,
          invalid_indexes: [],
          error: null,
        },
      ],
    });
    const relations = `select count(*)::int as count from pg_class where relnamespace = 'public'::regnamespace`;
    expect(await runOnce(urls[1]!, relations)).toEqual([{ count: 0 }]);
  });
});

describe('migrate down', () => {
  it('takes the last one back, shards first', async () => {
    await migration(TWO, 'create table more ()', 'drop table more');
    await run();
    expect(steady(await run('down'))).toEqual({
      code: 0,
      out: [
        'target  state  reverted  time  problem',
        'shard:shard2  done  1  N ms  -',
        'shard:shard1  done  1  N ms  -',
        'shard:shard0  done  1  N ms  -',
        'control  skipped  0  N ms  -',
      ],
      err: [
        ...[2, 1, 0].map((shard) => `target=shard:shard${shard} reverted ${TWO}`),
        'target=control nothing to revert',
      ],
    });
    await run();
    expect(targets((await run('down', '--to', ONE, '--json')).out).map(({ reverted }) => reverted)).toEqual([
      [TWO],
      [TWO],
      [TWO],
    ]);
  });

  it('refuses divergent shards, and production without a word more', async () => {
    await run();
    await migration(TWO, 'create table more ()', 'drop table more');
    await run('--shard', 'shard1');
    expect(await run('down')).toEqual({
      code: 1,
      out: '',
      err: `shardctl: nothing was reverted: the shards are not in the same state: shard:shard0, shard:shard2 would revert ${ONE}; shard:shard1 would revert ${TWO}; migrate them to one state first, or choose a shard\n`,
    });
    const production = ['down', '--shard', 'shard1', '--profile', 'production'];
    expect(await run(...production)).toEqual({
      code: 1,
      out: '',
      err: `shardctl: the profile is production: migrations are not taken back there unless that is confirmed (production: 'confirmed', --yes-i-mean-production)\n`,
    });
    expect((await run(...production, '--yes-i-mean-production')).code).toBe(0);
  });
});
