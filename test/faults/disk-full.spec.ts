import { afterEach, describe, expect, it } from '@jest/globals';
import { SmallDisk, type PostgresServer } from '@test/support';
import { ILL, NotesFleet, WELL, lostOrDoubled, type FleetOptions } from '../support/notes-fleet.js';
import type { LoadAnswer } from '../support/load.js';

let fleet: NotesFleet;
let disk: SmallDisk | undefined;

afterEach(() => fleet.dispose());

/** Two ways to a full disk, with two codes (53100, XX000), and what the operator does then. */
const WAYS: { way: string; options: FleetOptions; makeRoom: (server: PostgresServer) => Promise<unknown> }[] =
  [
    {
      way: 'files that must not grow',
      options: { server: { maxFileBytes: 4 * 2 ** 20 } },
      makeRoom: async (server) => {
        await server.query(`delete from notes where tenant_id = 'filler'`, [], 'notes');
        await server.query('vacuum notes', [], 'notes');
      },
    },
    {
      way: 'a tablespace on a small disk',
      options: {
        tablespace: async (server) => {
          disk = await server.smallDisk('small', 4);
          return disk.tablespace;
        },
      },
      makeRoom: () => disk!.resize(32),
    },
  ];
const possible = (await SmallDisk.isPossible()) ? WAYS : WAYS.slice(0, 1);

const FILL = `insert into notes (tenant_id, body) select 'filler', repeat(md5(i::text), 47) from generate_series(1, $1::int) as i`;

/** Rows of less than 2 kB, which PostgreSQL does not compress. Until not even one row of the size of a test's write fits; returns how often the disk said no. */
async function fill(server: PostgresServer): Promise<number> {
  let refusals = 0;
  for (let rows = 1024; rows >= 1;) {
    const fits = await server.query(FILL, [rows], 'notes').then(
      () => true,
      () => false,
    );
    if (fits) continue;
    refusals++;
    rows = Math.floor(rows / 2);
  }
  return refusals;
}

const ownTexts = async () => (await fleet.texts()).filter(({ tenant }) => tenant !== 'filler');

describe.each(possible)('a shard whose disk is full ($way)', ({ options, makeRoom }) => {
  it('answers reads, refuses writes, loses none that it acknowledged, and goes on when there is room', async () => {
    fleet = await NotesFleet.start(options);
    const answers: LoadAnswer[] = [];
    const write = async (tenant: string, label: string) => {
      const text = `${label} ${'x'.repeat(1700)}`;
      const answer = await fleet.write(tenant, text);
      answers.push({ ...answer, tenant, text });
      return answer.status;
    };
    expect(await write(ILL, 'before')).toBe(201);
    expect(await fill(fleet.server)).toBe(11); // 1024, 512 ... 1

    const full = await Promise.all(Array.from({ length: 12 }, (_none, index) => write(ILL, `full ${index}`)));
    expect(full.filter((status) => status >= 500).length).toBeGreaterThan(0);
    expect(full.filter((status) => status !== 201 && status < 500)).toEqual([]);
    expect(await fleet.call(ILL)).toMatchObject({ status: 200 });
    expect(await write(WELL, 'other')).toBe(201);
    expect(await fleet.health()).toMatchObject({ status: 200, down: [] });
    expect(lostOrDoubled(answers, await ownTexts())).toEqual({ lost: [], doubled: [] });

    await makeRoom(fleet.server);
    await fleet.untilWell();
    expect(await write(ILL, 'after')).toBe(201);
    await fleet.untilIdle();
    const rows = await ownTexts();
    expect(lostOrDoubled(answers, rows)).toEqual({ lost: [], doubled: [] });
    const refused = answers.filter(({ status }) => status !== 201).map(({ text }) => text);
    expect(rows.filter(({ text }) => refused.includes(text))).toEqual([]);
  }, 60_000);
});
