import { beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { slotOf } from '@app/routing';
import { expectNoConnections } from '@test/support';
import { FRAMEWORK_TABLES } from '../../support/moving-fleet.js';
import { ACME, GLOBEX, HOOLI, MoveFleet, steady } from './move-fleet.js';

jest.setTimeout(120_000); // each call is a process that loads TypeORM

let at: MoveFleet;
beforeAll(async () => {
  at = await MoveFleet.create();
});
beforeEach(() => at.fill({ [ACME]: 3, [GLOBEX]: 2 }));

/** What makes another key of a text. */
const ENDS = Array.from({ length: 30 }, (_, index) => String(index));

const MOVE = ['move-slot', '--from', 'shard0', '--to', 'shard1'];

/** Exit code, and what was said in lines that are the same each time. */
async function said(...args: string[]) {
  const { code, out, err } = await at.run(...args);
  return { code, out: steady(out), err: steady(err) };
}

const COPYING = (rows: number) => [
  'move ID: planned: nothing is in the way',
  'public.bookmarks: copying about N rows',
  `public.bookmarks: copied ${rows} rows, N B`,
  'move ID: the copy equals the source, and is committed',
];

describe('move-slot', () => {
  it('copies and proves a tenant, says how to route it, and deletes it at the source afterwards', async () => {
    expect(await said(...MOVE, '--tenant', ACME, '--by', 'ann')).toEqual({
      code: 0,
      out: [
        'table  rows',
        'public.bookmarks  3',
        `3 rows of 1 table: "${ACME}" at shard1 equal to shard0 (move ID)`,
        'next: nobody may write these rows until they are routed to shard1',
        'route them, which every process does within milliseconds:',
        `  shardctl pin ${ACME} shard1`,
        'then delete them at shard0: the same command with --confirm, or',
        '  shardctl purge ID',
      ],
      err: [...COPYING(3), 'move ID: verified'],
    });
    expect(await at.counts(ACME)).toEqual([3, 3]);
    expect(await said(...MOVE, '--tenant', ACME, '--confirm')).toEqual({
      code: 1,
      out: [''],
      err: [
        `shardctl: ${ACME} is not routed to shard1 yet, and the rows at shard0 are in use: pin it to shard1 first`,
      ],
    });
    expect((await at.run('pin', ACME, 'shard1')).code).toBe(0);
    expect(await said(...MOVE, '--tenant', ACME, '--confirm')).toEqual({
      code: 0,
      out: [
        'table  rows',
        'public.bookmarks  3',
        `deleted at shard0: 3 rows of 1 table; "${ACME}" is at shard1 alone (move ID)`,
      ],
      err: ['move ID: the source refuses these keys from now on', 'move ID: purged'],
    });
    expect(await at.counts(ACME)).toEqual([0, 3]);
    expect(await at.counts(GLOBEX)).toEqual([2, 0]);
    expect(await said(...MOVE, '--tenant', ACME, '--confirm')).toEqual({
      code: 0,
      out: [
        'table  rows',
        'public.bookmarks  3',
        `deleted at shard0: 3 rows of 1 table; "${ACME}" is at shard1 alone (move ID)`,
      ],
      err: ['shardctl: move UUID was purged already, at TIME: nothing is left to delete'],
    });
    await expectNoConnections(at.fleet.shards[0]!);
    await expectNoConnections(at.fleet.control);
  });

  it('says the same as JSON', async () => {
    const time = expect.stringMatching(/^\d{4}-/);
    const options = [
      ...MOVE,
      '--tenant',
      ACME,
      GLOBEX,
      '--table',
      'bookmarks',
      '--fence',
      '--fence-seconds',
      '9.5',
    ];
    const verified = await at.json(...options, '--throttle', '1000', '--by', 'ann');
    const id = verified['id'] as string;
    const step = (state: string) => ({ state, at: time, ms: expect.any(Number) });
    const move = {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      state: 'verified',
      source: 'shard0',
      destination: 'shard1',
      group: 0,
      keys: [ACME, GLOBEX].toSorted(),
      slots: null,
      kept_keys: [],
      key_column: 'tenant_id',
      key_kind: 'text',
      writes: 'fenced',
      fence_ms: 9500,
      throttle: 1000,
      epoch: '1',
      tables: [
        { table: 'public.bookmarks', rows: '5' },
        ...FRAMEWORK_TABLES.map((table) => ({ table, rows: '0' })),
      ],
      steps: [step('copied'), step('fenced'), step('verified')],
      by: 'ann',
      started_at: time,
      changed_at: time,
      leased_until: expect.any(String),
    };
    const pins = [ACME, GLOBEX].toSorted().map((key) => `shardctl pin ${key} shard1`);
    const purge = `shardctl purge ${id.slice(0, 8)}`;
    expect(verified).toEqual({ ...move, next: { pins, slots: {}, purge } });
    for (const key of [ACME, GLOBEX]) await at.fleet.pin(key, 'shard1');
    expect(await at.json(...options, '--confirm')).toEqual({
      ...move,
      id,
      state: 'purged',
      epoch: '2',
      steps: [...move.steps, step('purged')],
      deleted: move.tables,
    });
  });

  it('moves whole slots, says which lines of the configuration change, and warns', async () => {
    const slots = ['--slot', '5', '6', '--slots', '8000-8191', '1,2'];
    expect(await said(...MOVE, ...slots, '--fence')).toEqual({
      code: 0,
      out: [
        'table  rows',
        expect.stringMatching(/^public.bookmarks  \d$/),
        expect.stringMatching(
          /^\d rows? of 1 table: slots 1-2, 5-6, 8000-8191 at shard1 equal to shard0 \(move ID\)$/,
        ),
        'next: the fence lifts itself 30 s after it was raised; route them before',
        'give the slots away in sharding.toml, and restart every process:',
        '  # [[database.shards]] name = "shard0"',
        '  slots = ["0", "3-4", "7-7999"]',
        '  # [[database.shards]] name = "shard1"',
        '  slots = ["1-2", "5-6", "8000-16383"]',
        'then delete them at shard0: the same command with --confirm, or',
        '  shardctl purge ID',
      ],
      err: [
        'move ID: planned: nothing is in the way',
        'public.bookmarks: copying about N rows',
        expect.stringMatching(/^public.bookmarks: copied \d rows?, N B$/),
        'move ID: the copy equals the source, and is committed',
        'move ID: writes of these rows are refused; waiting for those that are under way',
        'move ID: the rows are still',
        'move ID: verified',
        'shardctl: a slot is shared by many tenants: change its owner only because the whole slot was moved; to move one tenant, use --tenant and pin it',
      ],
    });
  });

  it('takes any text for a tenant, and gives a command that a shell takes back', async () => {
    const words: [tenant: string, word: string][] = [
      ['-5', '-- -5'],
      ["it's", String.raw`'it'\''s`],
      ['$(touch x)', `'$(touch x)`],
      ['two words', `'two words`],
      ['\u202eevil', String.raw`$'\u202eevil`],
      ['tab\there', String.raw`$'tab\u0009here`],
    ];
    const odd = words.map(([text, word]) => {
      const end = ENDS.find((each) => slotOf(text + each) < 8192) ?? '';
      return { tenant: text + end, word: word + end + (word.includes(`'`) ? `'` : '') };
    });
    await at.fill(Object.fromEntries(odd.map(({ tenant }) => [tenant, 1])));
    const { next } = await at.json<{ next: { pins: string[] } }>(
      ...MOVE,
      ...odd.flatMap(({ tenant }) => ['--tenant', tenant]),
      '--config',
      'sharding.toml',
    );
    expect(next.pins.toSorted()).toEqual(
      odd.map(({ word }) => `shardctl --config sharding.toml pin ${word} shard1`).toSorted(),
    );
    expect(await Promise.all(odd.map(({ tenant }) => at.counts(tenant)))).toEqual(odd.map(() => [1, 1]));
  });

  it('refuses what is in the way in one line, with nothing of the rows', async () => {
    await at.fleet.query(1, `insert into bookmarks select id, 'other', url from bookmarks limit 0`);
    await at.fleet.query(1, `insert into bookmarks (tenant_id, url) values ($1, 'https://hush.test')`, [
      ACME,
    ]);
    expect(await at.run(...MOVE, '--tenant', ACME)).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(/^shardctl: public\.bookmarks: shard1 has 1 row[^\n]+\n$/),
    });
    const { err } = await at.run(...MOVE, '--tenant', ACME, '--table', 'nothing', 'bookmarks', '--debug');
    expect(err).toMatch(/^shardctl: no such table: "nothing"; tables with "tenant_id": public\.bookmarks\n/);
    expect(err).not.toContain('hush');
  });

  it('counts what somebody has written after the copy, and deletes nothing', async () => {
    await at.move({ keys: [ACME] });
    await at.fleet.pin(ACME, 'shard1');
    await at.fleet.query(0, `insert into bookmarks (tenant_id, url) values ($1, 'https://hush.test')`, [
      ACME,
    ]);
    expect(await said(...MOVE, '--tenant', ACME, '--confirm')).toEqual({
      code: 1,
      out: [''],
      err: [
        'move ID: the source refuses these keys from now on',
        'shardctl: shard0 no longer holds what was verified, and nothing was deleted: public.bookmarks: 4 rows instead of 3',
      ],
    });
    expect(await at.counts(ACME)).toEqual([4, 3]);
  });
});

it('goes on after an interrupt, which tells how', async () => {
  await at.fill({ [HOOLI]: 4 });
  const working = async () => {
    for (;;) {
      const rows = await at.fleet.query(0, `select from pg_stat_activity where query like 'copy (select%'`);
      if (rows.length > 0) return;
      await new Promise((done) => setTimeout(done, 20));
    }
  };
  const { code, out, err } = await at.runAs(
    { interruptAfter: working },
    ...MOVE,
    '--tenant',
    HOOLI,
    '--throttle',
    '1',
    '--json',
  );
  const { id } = JSON.parse(out) as { id: string };
  const next = `shardctl move resume ${id}`;
  expect({ code, out: JSON.parse(out) as unknown }).toEqual({
    code: 130,
    out: { id, interrupted: true, next },
  });
  expect(
    err
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    { log: `move ${id.slice(0, 8)}: planned: nothing is in the way` },
    { log: 'public.bookmarks: copying about 4 rows' },
    { note: `interrupted; no row is lost, and move ${id} can go on: ${next}` },
  ]);
  expect(await at.counts(HOOLI)).toEqual([4, 0]);
  const resumed = await said('move', 'resume', id.slice(0, 8));
  expect({ ...resumed, out: resumed.out.slice(0, 3) }).toEqual({
    code: 0,
    out: [
      'table  rows',
      'public.bookmarks  4',
      `4 rows of 1 table: "${HOOLI}" at shard1 equal to shard0 (move ID)`,
    ],
    err: [
      'move ID: planned: nothing is in the way',
      'public.bookmarks: copying about N rows',
      expect.stringMatching(/^public.bookmarks: copied 4 rows, N B in \d s \(1 row\/s, N B\/s\)$/),
      'move ID: the copy equals the source, and is committed',
      'move ID: verified',
    ],
  });
});
