import { beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ACME, GLOBEX, MoveFleet, steady } from './move-fleet.js';
import { OFFLINE, tomlOf } from './deployed.js';
import { TestCluster } from '@test/support';
import { Shardctl } from '../../support/shardctl.js';

jest.setTimeout(120_000); // each call is a process that loads TypeORM

const shardctl = Shardctl.attach();
const BOTH = ['--from', 'shard0', '--to', 'shard1'];
let at: MoveFleet;
beforeAll(async () => {
  at = await MoveFleet.create();
});
beforeEach(() => at.fill({ [ACME]: 3, [GLOBEX]: 2 }));

async function said(...args: string[]) {
  const { code, out, err } = await at.run(...args);
  return { code, out: steady(out), err: steady(err) };
}

const refusal = (message: string) => ({ code: 1, out: [''], err: [`shardctl: ${message}`] });

describe('moves', () => {
  it('lists the newest first, and as many as one wants', async () => {
    expect(await said('moves')).toEqual({ code: 0, out: ['no moves'], err: [''] });
    await at.move({ keys: [ACME] });
    await at.move({ keys: [GLOBEX, 'tenant-x'], writes: 'fenced', by: 'ann' }).catch(() => undefined);
    await at.move({ slots: [1, 2, 3] });
    expect((await said('moves')).out.slice(0, 2)).toEqual([
      'move  state  from  to  what  rows  by  changed at  held until',
      'ID  verified  shard0  shard1  slots 1-3  0  test  TIME  -',
    ]);
    const one = await at.json<{ moves: object[] }>('moves', '--limit', '1');
    expect(one.moves).toEqual([expect.objectContaining({ state: 'verified', slots: '1-3', keys: null })]);
  });
});

describe('move', () => {
  it('shows states with their times, tables with their rows, and who', async () => {
    const { id } = await at.move({ keys: [ACME], by: 'ann', writes: 'fenced' });
    expect(await said('move', 'show', id.slice(0, 8))).toEqual({
      code: 0,
      out: [
        'move UUID: verified',
        `rows  "${ACME}" by tenant_id, from shard0 to shard1`,
        'writers  fenced for 30 s',
        'by  ann, since TIME',
        'mover  nobody works on it (epoch 1)',
        '',
        'table  rows',
        'public.bookmarks  3',
        '',
        'step  at  took',
        'planned  TIME  -',
        'copied  TIME  N ms',
        'fenced  TIME  N ms',
        'verified  TIME  N ms',
      ],
      err: [''],
    });
    expect(await said('move', 'show', 'nobody')).toEqual(refusal('"nobody" is no move: "moves" lists them'));
  });

  it('takes the copy of an abort away, and asks nobody who is not there', async () => {
    const { id } = await at.move({ keys: [ACME] });
    expect(await said('move', 'abort', id)).toEqual({
      code: 2,
      out: [''],
      err: [
        'shardctl: move abort asks before it deletes the copy, and nobody can answer here: say --yes (see shardctl --help)',
      ],
    });
    expect(await at.counts(ACME)).toEqual([3, 3]);
    expect(await said('move', 'abort', id, '--yes')).toEqual({
      code: 0,
      out: [`aborted move ID: no copy of "${ACME}" is at shard1; the rows at shard0 were not touched`],
      err: ['move ID: the copy is gone', 'move ID: aborted'],
    });
    expect(await at.counts(ACME)).toEqual([3, 0]);
    expect((await said('move', 'abort', id, '--yes')).code).toBe(0);
    expect(await said('move', 'resume', id)).toEqual(refusal('move UUID has ended: it is aborted'));
  });

  it('purges no source of a move that was aborted: it holds the only rows', async () => {
    const { id } = await at.move({ keys: [ACME] });
    await at.run('move', 'abort', id, '--yes');
    await at.fleet.pin(ACME, 'shard1');
    expect(await said('purge', id)).toEqual(refusal('move UUID has ended: it is aborted'));
    expect(await at.counts(ACME)).toEqual([3, 0]);
  });

  it('aborts no move that was purged: its copy are the only rows', async () => {
    const { id } = await at.move({ keys: [ACME] });
    await at.fleet.pin(ACME, 'shard1');
    expect(await said('purge', id.slice(0, 6))).toEqual({
      code: 0,
      out: [
        'table  rows',
        'public.bookmarks  3',
        `deleted at shard0: 3 rows of 1 table; "${ACME}" is at shard1 alone (move ID)`,
      ],
      err: ['move ID: the source refuses these keys from now on', 'move ID: purged'],
    });
    expect((await at.json('purge', id))['state']).toBe('purged');
    await at.fleet.pin(ACME, 'shard0');
    expect(await said('move', 'abort', id, '--yes')).toEqual(refusal('move UUID has ended: it is purged'));
    expect(await at.counts(ACME)).toEqual([0, 3]);
  });

  it('refuses what is routed elsewhere before anything is recorded', async () => {
    await at.fleet.pin(ACME, 'shard1');
    const { code, err } = await said('move-slot', ...BOTH, '--tenant', ACME);
    expect([code, err]).toEqual([
      1,
      [
        `shardctl: ${ACME} is not routed to shard0: where a key is routed its rows are alive and are never overwritten. To take it to its destination for good, run the command with --confirm`,
      ],
    ]);
    expect((await said('moves')).out).toEqual(['no moves']);
  });

  it('aborts no move whose source was purged although nobody could record it', async () => {
    const { id } = await at.move({ keys: [ACME] });
    await at.fleet.pin(ACME, 'shard1');
    const reached = (point: string) => {
      if (point === 'purge-committed') throw new Error('died');
    };
    await expect(at.fleet.confirm({ keys: [ACME] }, { reached })).rejects.toThrow('died');
    await at.fleet.pin(ACME, 'shard0');
    expect(await said('move', 'abort', id, '--yes')).toEqual(
      refusal(
        'the rows of move UUID at shard0 were deleted, and those at shard1 are the only ones: end it with purge',
      ),
    );
    expect(await at.counts(ACME)).toEqual([0, 3]);
  });

  it.each([
    [['sideways', 'x'], 'behind move stands show, resume or abort, and an id (see shardctl --help)'],
    [['show', 'x', '--yes'], '--yes does not belong to move show (see shardctl --help)'],
    [['show'], "missing required argument 'id' (see shardctl --help)"],
  ])('%j is wrong usage', async (args, message) => {
    expect(await shardctl.run(['move', ...args], { toml: OFFLINE })).toEqual({
      code: 2,
      out: '',
      err: `shardctl: ${message}\n`,
    });
  });
});

describe('verify', () => {
  it('compares contents at any time, and its exit code tells', async () => {
    expect(await said('verify', ...BOTH, '--tenant', ACME)).toEqual({
      code: 1,
      out: ['table  rows at shard0  rows at shard1  content', 'public.bookmarks  3  0  DIFFERS'],
      err: [''],
    });
    await at.move({ keys: [ACME] });
    expect(await said('verify', ...BOTH, '--tenant', ACME)).toEqual({
      code: 0,
      out: ['table  rows at shard0  rows at shard1  content', 'public.bookmarks  3  3  same'],
      err: [''],
    });
    await at.fleet.query(1, `update bookmarks set url = url || ' ' where tenant_id = $1`, [ACME]);
    expect(await at.json('verify', ...BOTH, '--tenant', ACME, '--table', 'bookmarks')).toEqual({
      from: 'shard0',
      to: 'shard1',
      same: false,
      tables: [{ table: 'public.bookmarks', from_rows: '3', to_rows: '3', same: false }],
    });
  });
});

const MOVE = ['move-slot', ...BOTH];

describe('a command line that makes no sense', () => {
  const whose = 'say whose rows: either --tenant, or --slot and --slots';
  it.each([
    [MOVE, whose],
    [[...MOVE, '--tenant', 'a', '--slot', '5'], whose],
    [['verify', ...BOTH], whose],
    [['verify', '--from', 'shard0', '--tenant', 'a'], "required option '--to <shard>' not specified"],
    [
      [...MOVE, '--slot', '16384'],
      "option '--slot <number...>' argument '16384' is invalid. It is a whole number from 0 to 16383.",
    ],
    [
      [...MOVE, '--slots', '5-3'],
      `option '--slots <ranges...>' argument '5-3' is invalid. inverted slot range "5-3": write "3-5".`,
    ],
    [[...MOVE, '--tenant', 'a', '--fence-seconds', '5'], '--fence-seconds belongs to --fence'],
    [[...MOVE, '--int', '--tenant', 'a'], '--int takes whole numbers, not "a"'],
  ])('%j', async (args, message) => {
    const { code, out, err } = await shardctl.run(args, { toml: OFFLINE });
    expect({ code, out, err }).toEqual({
      code: 2,
      out: '',
      err: `shardctl: ${message} (see shardctl --help)\n`,
    });
  });
});

describe('each verb', () => {
  const VERBS = [['moves'], ['move', 'resume', 'a'], ['purge', 'a'], [...MOVE, '--tenant', 'acme']];

  it.each(VERBS)('%s %s %s needs a control database, that it answers, and its tables', async (...args) => {
    const errs = [];
    const control = await TestCluster.attach().createDatabase({ label: 'empty' });
    const { shards } = at.fleet;
    for (const toml of [tomlOf({ shards }), OFFLINE, tomlOf({ control, shards })]) {
      errs.push(await shardctl.run(args, { toml }));
    }
    expect(errs).toEqual(
      [
        'this needs a control database: set [database] primary_url, or SHARDING_DATABASE__PRIMARY_URL',
        'the control database cannot be reached (ECONNREFUSED)',
        'a database lacks what moves need: run the migrations (shardctl migrate, or migrate())',
      ].map((message) => ({ code: 1, out: '', err: `shardctl: ${message}\n` })),
    );
  });

  it('says what a role may not do', async () => {
    const role = `mover_${process.pid}`;
    await TestCluster.attach().query(`create role ${role} login password 'secret'`);
    const url = new URL(at.fleet.control);
    url.username = role;
    const toml = at.toml.replace(at.fleet.control, url.href);
    expect(await at.runAs({ toml }, 'moves')).toEqual({
      code: 1,
      out: '',
      err: 'shardctl: a role may not do what a move needs, permission denied for table _sharding_moves: grant it\n',
    });
  });

  it('names a shard that is down, or that nobody knows', async () => {
    const [first = '', second = ''] = at.fleet.shards;
    const toml = at.toml.replace(second, `${second}_gone`);
    expect(first).not.toBe(second);
    expect(await at.runAs({ toml }, ...MOVE, '--tenant', ACME)).toEqual({
      code: 1,
      out: '',
      err: 'shardctl: shard "shard1" cannot be reached (3D000)\n',
    });
    expect(await at.run('move-slot', '--from', 'shard0', '--to', 'shard9', '--tenant', ACME)).toEqual({
      code: 1,
      out: '',
      err: 'shardctl: unknown shard "shard9"; known shards: shard0, shard1\n',
    });
  });
});
