import { beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { Shardctl, type ShardctlCall } from '../../support/shardctl.js';
import { auditedFleet, fill, OF_0, OF_1, reset } from '../moves/audited.js';
import type { MovingFleet } from '../../support/moving-fleet.js';

jest.setTimeout(120_000); // each call is a process that loads TypeORM

const shardctl = Shardctl.attach();
const [acme = '', globex = ''] = OF_0;
const [initech = ''] = OF_1;
let fleet: MovingFleet;
let toml: string;

beforeAll(async () => {
  fleet = await auditedFleet();
  toml = tomlOf(fleet);
});
beforeEach(async () => {
  await reset(fleet);
  await fill(fleet, 0, [acme]);
  await fill(fleet, 1, [initech]);
});

const run = (args: readonly string[], call: ShardctlCall = {}) => shardctl.run(args, { toml, ...call });

it('audits, repairs by plan and by deed, and is content then', async () => {
  expect(await run(['audit'])).toEqual({
    code: 0,
    out: 'nothing found (2 keys on shard0, shard1)\n',
    err: '',
  });
  await fill(fleet, 1, [globex]);
  await fleet.query(0, 'insert into notes (tenant_id) values (null)');
  expect(await run(['audit'])).toEqual({
    code: 1,
    out: [
      'error    shard0: unroutable in public.notes',
      '         rows without a key (tenant_id is null) belong to nobody',
      '         1 row',
      '         -> give them a key or delete them, then make the column not null',
      '',
      'error    shard1: misplaced in public.bookmarks',
      '         the key is routed to shard0',
      `         "${globex}" (2 rows)`,
      '         -> shardctl repair moves them there, or pin the key to this shard',
      '',
      '1 misplaced, 1 unroutable (3 keys on shard0, shard1)',
      '',
    ].join('\n'),
    err: '',
  });
  const left =
    'left     shard0: rows without a key (tenant_id is null) belong to nobody: give them a key or delete them, then make the column not null';
  expect(await run(['repair', '--dry-run'])).toEqual({
    code: 1,
    out: [
      left,
      `planned  shard1 -> shard0 "${globex}": moves rows from shard1 to shard0`,
      '',
      '1 planned, 1 left to you; nothing was changed',
      '',
    ].join('\n'),
    err: '',
  });
  expect(await run(['repair', '--yes', '--shard', 'shard1'])).toEqual({
    code: 0,
    out: `done     shard1 -> shard0 "${globex}": moves rows from shard1 to shard0, verified\n\n1 done\n`,
    err: '',
  });
  expect(await run(['audit', '--shard', 'shard1'])).toMatchObject({ code: 0, err: '' });
});

it('says the same as JSON, in a stable shape', async () => {
  await fill(fleet, 1, [acme]);
  const { code, out } = await run(['audit', '--json', '--shard', 'shard1']);
  expect({ code, out: JSON.parse(out) as unknown }).toEqual({
    code: 1,
    out: {
      complete: true,
      cursor: null,
      shards: ['shard1'],
      sample_percent: 100,
      key_column: 'tenant_id',
      key_kind: 'text',
      keys: 2,
      counts: {
        misplaced: 0,
        two_homes: 1,
        leftover: 0,
        orphan: 0,
        unroutable: 0,
        unreachable: 0,
        moving: 0,
      },
      findings: [
        {
          kind: 'two_homes',
          severity: 'error',
          shard: 'shard1',
          table: 'public.bookmarks',
          key: acme,
          slot: null,
          rows: 2,
          routed_to: 'shard0',
          homes: [{ shard: 'shard0', rows: 2 }],
          unasked: [],
          move: null,
          message: 'the key is routed to shard0, and has rows on several shards, of all tables: 2 on shard0',
          remedy:
            'shardctl repair deletes these where the right shard has the very same; else compare them and decide',
        },
      ],
    },
  });
  const repaired = await run(['repair', '--yes', '--json']);
  expect(JSON.parse(repaired.out)).toMatchObject({
    mode: 'apply',
    healed: false,
    steps: [
      {
        what: 'delete-duplicate',
        outcome: 'left',
        shard: 'shard1',
        to: 'shard0',
        key: acme,
        move: null,
        finding: null,
      },
    ],
  });
});

it('says how to go on after an interrupt, and goes on', async () => {
  await fill(
    fleet,
    0,
    Array.from({ length: 60 }, (_none, index) => `t${index}`),
    1,
  );
  const busy = async () => {
    for (;;) {
      const [row] = await fleet.query(
        'control',
        `select count(*)::int as n from pg_stat_activity where application_name like '%audit%' and datname = $1`,
        [new URL(fleet.shards[0]!).pathname.slice(1)],
      );
      if (Number(row?.['n']) > 0) return;
    }
  };
  const stopped = await run(['audit', '--throttle', '5', '--json'], { interruptAfter: busy });
  expect(stopped.code).toBe(130);
  const first = JSON.parse(stopped.out) as {
    complete: boolean;
    cursor: string;
    keys: number;
    findings: unknown[];
  };
  expect(first.complete).toBe(false);
  expect(JSON.parse(stopped.err)).toEqual({
    note: `interrupted: go on with the same command and --resume ${first.cursor}`,
  });
  const rest = await run(['audit', '--resume', first.cursor, '--json']);
  const second = JSON.parse(rest.out) as { keys: number; findings: unknown[] };
  const whole = JSON.parse((await run(['audit', '--json'])).out) as { keys: number; findings: unknown[] };
  expect(first.keys + second.keys).toBe(whole.keys);
  expect([...first.findings, ...second.findings]).toEqual(whole.findings);
});

it('refuses a command line that makes no sense', async () => {
  const err = async (...args: string[]) => {
    const said = await run(args);
    return [said.code, said.err];
  };
  expect(await err('repair')).toEqual([
    2,
    'shardctl: say --dry-run to see what would be done, --yes to do it (see shardctl --help)\n',
  ]);
  expect((await err('repair', '--dry-run', '--yes'))[0]).toBe(2);
  expect((await err('audit', '--sample', '0'))[0]).toBe(2);
  expect(await err('audit', '--resume', 'x')).toEqual([
    1,
    'shardctl: it is no cursor of an audit: give the cursor that the audit printed, with the same shards\n',
  ]);
});

function tomlOf({ control, shards, options }: MovingFleet): string {
  const slots = options.database?.shards?.map((shard) => JSON.stringify(shard.slots)) ?? [];
  return [
    `[database]\nprimary_url = "${control}"\ndirectory_shard_router = true`,
    ...shards.map(
      (url, at) => `[[database.shards]]\nname = "shard${at}"\nprimary_url = "${url}"\nslots = ${slots[at]}`,
    ),
    '[tenancy]\nsource = "header"',
  ].join('\n');
}
