import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { summary } from '../support/load.js';
import { ILL, NotesFleet, WELL } from '../support/notes-fleet.js';

let fleet: NotesFleet;
let before: { cuts: number; texts: number };

beforeAll(async () => {
  fleet = await NotesFleet.start({ typeorm: { extra: { query_timeout: 600 } } });
});

afterAll(() => fleet.dispose());

beforeEach(async () => {
  await fleet.untilWell();
  await fleet.untilIdle();
  before = { cuts: fleet.proxy.injections, texts: (await fleet.texts()).length };
});

/** Cuts and rows of the running test. */
const cuts = () => fleet.proxy.injections - before.cuts;
const texts = async () => (await fleet.texts()).map(({ text }) => text).slice(before.texts);

const UNKNOWN = { status: 500, body: { code: 'commit_unknown' } };

describe.each(['reset', 'silent'] as const)('a commit whose connection is lost (%s)', (how) => {
  it('after the server did it: unknown, there exactly once, sent once', async () => {
    fleet.proxy.cutOn(/^COMMIT/i, 'after', how);
    expect(await fleet.write(ILL, 'done')).toMatchObject(UNKNOWN);
    expect(cuts()).toBe(1);
    expect(await texts()).toEqual(['done']);
    expect(await fleet.write(ILL, 'next')).toMatchObject({ status: 201 });
    expect(await texts()).toEqual(['done', 'next']);
    await fleet.untilIdle();
  });

  it('before the server heard of it: unknown, and not there', async () => {
    fleet.proxy.cutOn(/^COMMIT/i, 'before', how);
    expect(await fleet.write(ILL, 'not done')).toMatchObject(UNKNOWN);
    expect(cuts()).toBe(1);
    expect(await fleet.write(ILL, 'next')).toMatchObject({ status: 201 });
    expect(await texts()).toEqual(['next']);
    await fleet.untilIdle();
  });
});

it("a lost commit of TypeORM's own transaction (save) is unknown too, not an invitation to repeat it", async () => {
  fleet.proxy.cutOn(/^COMMIT/i, 'after');
  const answer = await fleet.write(ILL, 'saved', 'notes/saved');
  expect([cuts(), await texts()]).toEqual([1, ['saved']]);
  expect(answer).toMatchObject(UNKNOWN);
});

it('a connection lost before the commit is shard_unavailable: nothing was done', async () => {
  fleet.proxy.cutOn(/^insert/i, 'after');
  expect(await fleet.write(ILL, 'not done')).toMatchObject({
    status: 503,
    body: { code: 'shard_unavailable' },
  });
  expect([cuts(), await texts()]).toEqual([1, []]);
});

it('of concurrent commits the lost one alone is unknown', async () => {
  fleet.proxy.cutOn(/^COMMIT/i, 'after');
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_none, index) => fleet.write(index % 2 === 0 ? ILL : WELL, `note ${index}`)),
  );
  expect(summary(answers)).toEqual({ '201': 7, '500 commit_unknown': 1 });
  expect(cuts()).toBe(1);
  const notes = (await fleet.texts()).map(({ text }) => text).filter((text) => text.startsWith('note '));
  expect(notes.toSorted()).toEqual(Array.from({ length: 8 }, (_none, index) => `note ${index}`));
});
