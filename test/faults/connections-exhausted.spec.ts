import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { waitFor } from '@test/support';
import { Load, summary } from '../support/load.js';
import { CONNECT_TIMEOUT_MS, ILL, NotesFleet, WELL } from '../support/notes-fleet.js';

let fleet: NotesFleet;

beforeEach(async () => {
  fleet = await NotesFleet.start({ server: { maxConnections: 12 } });
});

afterEach(() => fleet.dispose());

it('a server without a free connection is a 503 at once for its own tenants, and well when there are some', async () => {
  const held = await fleet.server.holdConnections();
  try {
    expect(held.count).toBe(12);
    const load = new Load({ url: fleet.url, tenants: [WELL] });
    const refused = await Promise.all(
      Array.from({ length: 10 }, (_none, index) =>
        index % 2 === 0 ? fleet.call(ILL) : fleet.write(ILL, `refused ${index}`),
      ),
    );
    expect(summary(refused)).toEqual({ '503 shard_unavailable': 10 });
    expect(refused.filter(({ ms }) => ms > CONNECT_TIMEOUT_MS + 2000)).toEqual([]);
    expect(await fleet.health()).toEqual({ status: 503, down: ['db:shard:shard1'], detail: '53300' });
    const both = async () => Object.keys(summary(load.answers)).length >= 2;
    await waitFor(both, { what: 'the other shard to be read and written meanwhile' });
    await load.stop();
    expect(Object.keys(summary(load.answers)).sort()).toEqual(['200', '201']);
  } finally {
    await held.release();
  }
  await fleet.untilWell();
  await fleet.untilIdle();
});

it('connections that the pool has already go on working while the server has no other ones', async () => {
  await fleet.untilWell();
  const held = await fleet.server.holdConnections();
  try {
    expect(await fleet.call(ILL)).toMatchObject({ status: 200 });
    expect(await fleet.write(ILL, 'on an open connection')).toMatchObject({ status: 201 });
  } finally {
    await held.release();
  }
  await fleet.untilWell();
});
