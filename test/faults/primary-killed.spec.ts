import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { waitFor } from '@test/support';
import { Load, codeOf, summary } from '../support/load.js';
import { ILL, NotesFleet, WELL, lostOrDoubled } from '../support/notes-fleet.js';

let fleet: NotesFleet;

beforeEach(async () => {
  fleet = await NotesFleet.start();
});

afterEach(() => fleet.dispose());

it('a primary that is killed under load, again and again, fails its own requests alone and loses nothing', async () => {
  const kills = 2;
  let injected = 0;
  await fleet.untilWell();
  const load = new Load({ url: fleet.url, tenants: [WELL, ILL] });
  for (let time = 0; time < kills; time++) {
    const before = load.good(ILL);
    await waitFor(async () => load.good(ILL) >= before + 40, { what: 'the load to run', timeoutMs: 15_000 });
    await fleet.server.kill();
    injected++;
    const failed = load.of(ILL).length;
    await waitFor(async () => load.of(ILL).length > failed + 8, { what: 'requests to fail' });
    expect(await fleet.health()).toMatchObject({ status: 503, down: ['db:shard:shard1'] });
    const served = load.good(WELL);
    await waitFor(async () => load.good(WELL) > served + 20, { what: 'shard0 to be served meanwhile' });
    await fleet.server.restart();
    await fleet.untilWell();
  }
  const answers = await load.stop();
  await fleet.untilIdle();

  expect(injected).toBe(kills);
  expect(Object.keys(summary(load.of(WELL))).sort()).toEqual(['200', '201']);
  const failures = load.of(ILL).filter(({ status }) => status >= 300);
  expect(failures.length).toBeGreaterThan(kills);
  expect(
    failures.filter((answer) => !['shard_unavailable', 'commit_unknown'].includes(codeOf(answer)!)),
  ).toEqual([]);
  expect(lostOrDoubled(answers, await fleet.texts())).toEqual({ lost: [], doubled: [] });
}, 60_000);
