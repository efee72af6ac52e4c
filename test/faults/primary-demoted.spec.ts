import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Shards } from '@app/sharding';
import { waitFor } from '@test/support';
import { Load, codeOf, summary } from '../support/load.js';
import { ILL, NotesFleet, WELL, lostOrDoubled } from '../support/notes-fleet.js';

/** A failover has left this server behind: `select 1` works, every write is refused with 25006. */
let fleet: NotesFleet;

beforeEach(async () => {
  fleet = await NotesFleet.start();
  await fleet.untilWell();
});

afterEach(() => fleet.dispose());

const UNAVAILABLE = { status: 503, body: { code: 'shard_unavailable' } };

async function demote(): Promise<void> {
  await fleet.server.demote();
  await waitFor(async () => (await fleet.write(ILL, `probe ${performance.now()}`)).status >= 500, {
    what: 'sessions of the pool to be read-only',
  });
}

describe('a demoted primary', () => {
  it('is unavailable for writes, whatever way they take, and its shard alone', async () => {
    await demote();
    expect(await fleet.write(ILL, 'in tx')).toMatchObject(UNAVAILABLE);
    expect(await fleet.write(ILL, 'saved', 'notes/saved')).toMatchObject(UNAVAILABLE);
    const db = await fleet.app.get(Shards).dbOn('shard1');
    await expect(
      db.query(`insert into notes (tenant_id, body) values ('globex', 'raw')`),
    ).rejects.toMatchObject({ code: 'shard_unavailable' });
    expect(await fleet.write(WELL, 'well')).toMatchObject({ status: 201 });
    const texts = (await fleet.texts()).map(({ text }) => text);
    expect(texts.filter((text) => ['in tx', 'saved', 'raw'].includes(text))).toEqual([]);
    await fleet.server.promote();
  });

  it('shows in health, with the reason, although it answers', async () => {
    await fleet.server.demote();
    const down = await waitFor(
      async () => {
        const health = await fleet.health();
        return health.status === 503 && health;
      },
      { what: 'health to notice' },
    );
    expect(down).toEqual({
      status: 503,
      down: ['db:shard:shard1'],
      detail: expect.stringMatching(/read.only/i),
    });
    await fleet.server.promote();
  });

  it('costs the connection: the pool does not keep a session that only reads', async () => {
    await fleet.dispose();
    fleet = await NotesFleet.start({ database: { poolSize: 1 } });
    await fleet.untilWell();
    await fleet.untilIdle();
    const pids = async () =>
      (await fleet.server.query(`select pid from pg_stat_activity where datname = 'notes'`)).map(
        ({ pid }) => pid,
      );
    const [pid, ...others] = await pids();
    expect(others).toEqual([]);
    await demote();
    await waitFor(async () => !(await pids()).includes(pid), { what: 'the connection to be closed' });
    await fleet.server.promote();
  });

  it('under load: fails writes of its own tenants alone, and serves them when it is promoted, without a restart', async () => {
    const load = new Load({ url: fleet.url, tenants: [WELL, ILL] });
    await waitFor(async () => load.good(ILL) >= 20, { what: 'the load to run' });
    await fleet.server.demote();
    const before = load.of(ILL).length;
    await waitFor(
      async () =>
        load
          .of(ILL)
          .slice(before)
          .filter(({ status }) => status >= 500).length > 4,
      { what: 'writes to fail' },
    );
    await fleet.server.promote();
    await fleet.untilWell();
    const answers = await load.stop();
    await fleet.untilIdle();
    expect(Object.keys(summary(load.of(WELL))).sort()).toEqual(['200', '201']);
    const failures = load.of(ILL).filter(({ status }) => status >= 300);
    expect(failures.length).toBeGreaterThan(0);
    expect(failures.filter((answer) => codeOf(answer) !== 'shard_unavailable')).toEqual([]);
    expect(lostOrDoubled(answers, await fleet.texts())).toEqual({ lost: [], doubled: [] });
  });
});

it("a write in the caller's own readOnly transaction is the caller's error, on a primary that is well", async () => {
  const db = await fleet.app.get(Shards).dbOn('shard1');
  const insert = `insert into notes (tenant_id, body) values ('globex', 'raw')`;
  const wrong = db.tx((tx) => tx.query(insert), { readOnly: true });
  await expect(wrong).rejects.toMatchObject({ name: 'QueryFailedError', driverError: { code: '25006' } });
  await fleet.untilIdle();
  expect(await fleet.write(ILL, 'next')).toMatchObject({ status: 201 });
  expect(await fleet.health()).toMatchObject({ status: 200, down: [] });
});
