import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { waitFor } from '@test/support';
import { MoveTrial } from '../support/move-trial.js';
import type { MovePoint } from '@app/sharding/operator';

/** What befalls a mover beside its own death. */
let trial: MoveTrial;

beforeEach(async () => {
  trial = await MoveTrial.start();
});
afterEach(() => trial.dispose());

const LATER = [
  [`insert into bookmarks (tenant_id, url) values ($1, 'later')`, '41 rows instead of 40'],
  [
    `update bookmarks set url = 'changed' where tenant_id = $1 and url like '%/7'`,
    '40 rows, of which some differ',
  ],
  [`delete from bookmarks where tenant_id = $1 and url like '%/7'`, '39 rows instead of 40'],
] as const;

it.each(LATER)('refuses to purge what was written after the proof: %s', async (sql, said) => {
  await trial.move();
  await trial.fleet.query(0, sql, [trial.moving]);
  await trial.route('shard1');
  const refused = await trial.confirm().catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: 'move_mismatch',
    message: expect.stringContaining(`public.bookmarks: ${said}`),
  });
  await trial.route('shard0');
  expect(await trial.move()).toMatchObject({ state: 'verified' });
  await trial.route('shard1');
  expect(await trial.confirm()).toMatchObject({ state: 'purged' });
  expect(await trial.fleet.query(0, 'select from bookmarks where tenant_id = $1', [trial.moving])).toEqual(
    [],
  );
});

it('refuses to copy again over rows that are alive', async () => {
  await trial.move();
  await trial.route('shard1');
  await trial.fleet.query(1, `update bookmarks set url = 'newer' where tenant_id = $1 and url like '%/7'`, [
    trial.moving,
  ]);
  await expect(trial.move()).rejects.toMatchObject({ code: 'move_refused' });
  expect(await trial.fleet.query(1, `select from bookmarks where url = 'newer'`)).toHaveLength(1);
});

it('outlives the limits that databases set on long work', async () => {
  for (const url of trial.fleet.shards) {
    const name = new URL(url).pathname.slice(1);
    for (const [setting, value] of [
      ['statement_timeout', '60ms'],
      ['idle_in_transaction_session_timeout', '60ms'],
      ['lock_timeout', '1ms'],
    ] as const) {
      await trial.fleet.query('control', `alter database "${name}" set ${setting} = '${value}'`);
    }
  }
  const move = await trial.run((moves) =>
    moves.move(trial.fleet.request({ keys: [trial.moving], throttle: 100 })),
  );
  expect(move.state).toBe('verified');
});

it('lets one of two movers at a time work, and the other go on behind it', async () => {
  const moves = await Promise.all([trial.move(), trial.move()]);
  expect(moves.map(({ id }) => id)).toEqual([moves[0]?.id, moves[0]?.id]);
  expect(moves.map(({ state }) => state)).toEqual(['verified', 'verified']);
  expect(await trial.counts()).toEqual([40, 40]);
});

it('refuses the opposite direction while a move is open', async () => {
  await trial.move();
  await trial.route('shard1');
  const back = trial.run((moves) =>
    moves.move({ ...trial.fleet.request({ keys: [trial.moving] }), from: 'shard1', to: 'shard0' }),
  );
  await expect(back).rejects.toMatchObject({ code: 'move_refused' });
  expect(await trial.counts()).toEqual([40, 40]);
});

it('gives up when its lease is lost, and harms nothing when it wakes up', async () => {
  let second: Promise<unknown> | undefined;
  const sleep = async (point: MovePoint) => {
    if (point !== 'rows-copied') return;
    trial.proxies.control.blackHole();
    const lapsed = async () =>
      (
        await trial.fleet.query(
          'control',
          'select from _sharding_moves where leased_until < clock_timestamp()',
        )
      ).length > 0;
    await waitFor(lapsed, { what: 'the lease to run out' });
    second = trial.fleet.moves((moves) => moves.move(trial.fleet.request({ keys: [trial.moving] })));
    second.catch(() => undefined);
  };
  await expect(trial.move({ reached: sleep })).rejects.toMatchObject({ code: 'move_refused' });
  await expect(second).resolves.toMatchObject({ state: 'verified', epoch: '2' });
  expect(await trial.counts()).toEqual([40, 40]);
});
