import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { PinLookUps } from './pin-look-ups.js';
import type { FoundRow } from './directory-statements.js';
import type { AskControl, LookUpParts } from './pin-look-ups.js';

/** A question that is answered by the test. */
interface Question {
  readonly key: string;
  answer(shard: string | null, revision: number): void;
  fail(): void;
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

function lookUps(parts: Partial<LookUpParts> = {}) {
  const questions: Question[] = [];
  const ask = ((_sql: string, [key]: [string]) =>
    new Promise<FoundRow[]>((resolve, reject) =>
      questions.push({
        key,
        answer: (shard_name, revision) =>
          resolve([{ pinned: shard_name !== null, shard_name, group_id: null, revision: String(revision) }]),
        fail: () => reject(new Error('no answer')),
      }),
    )) as AskControl;
  const found: string[] = [];
  const pins = new PinLookUps({
    ask,
    width: 2,
    ttlMs: 1000,
    maxStalenessMs: Infinity,
    found: (key, pin) => found.push(`${key} ${pin?.shard}`),
    ...parts,
  });
  return { pins, questions, found };
}

let clock = 0;
const at = (ms: number) => {
  clock = ms;
  jest.spyOn(performance, 'now').mockImplementation(() => clock);
};
afterEach(() => void jest.restoreAllMocks());

const unavailable = { code: 'directory_unavailable' };

describe('what was looked up', () => {
  it('is kept, hits and misses, until its time is over', async () => {
    at(0);
    const { pins, questions, found } = lookUps();
    const find = async (key: string) => pins.find(key);
    const asked = [find('acme'), find('acme'), find('globex')];
    await turn();
    expect(questions.map(({ key }) => key)).toEqual(['acme', 'globex']);
    questions[0]!.answer('shard1', 5);
    questions[1]!.answer(null, 5);
    const [first, second, none] = await Promise.all(asked);
    expect([first?.shard, second?.shard, none]).toEqual(['shard1', 'shard1', undefined]);
    expect(found).toEqual(['acme shard1', 'globex undefined']);
    clock = 999;
    expect(pins.find('acme')).toBe(first);
    expect(pins.find('globex')).toBeUndefined();
    clock = 1000;
    void pins.find('acme');
    await turn();
    expect(questions).toHaveLength(3);
    questions[2]!.answer('shard1', 5);
  });

  it('is not kept where the key changed during the look-up, and the next one asks anew', async () => {
    const { pins, questions } = lookUps();
    const old = pins.find('acme');
    await turn();
    pins.changed(['acme'], 6);
    const fresh = pins.find('acme');
    await turn();
    questions[1]!.answer('shard1', 6);
    expect((await fresh)?.shard).toBe('shard1');
    questions[0]!.answer('shard0', 5); // arrives last
    expect((await old)?.shard).toBe('shard0'); // asked before the change
    expect(await pins.find('acme')).toMatchObject({ shard: 'shard1' });
    expect(questions).toHaveLength(2);
  });

  it('is not kept where everything may have changed during the look-up', async () => {
    const { pins, questions } = lookUps();
    const old = pins.find('acme');
    await turn();
    pins.clear(6);
    questions[0]!.answer('shard0', 5);
    await old;
    expect(pins.size).toBe(0);
  });
});

describe('while nobody answers', () => {
  it('what is known is given beyond its time, as far as that is allowed', async () => {
    at(0);
    const { pins, questions } = lookUps({ maxStalenessMs: 5000 });
    const first = pins.find('acme');
    await turn();
    questions[0]!.answer('shard1', 5);
    await first;
    clock = 4999;
    expect(pins.kept('acme')?.pin?.shard).toBe('shard1');
    const stale = pins.find('acme');
    await turn();
    questions[1]!.fail();
    expect(await stale).toMatchObject({ shard: 'shard1' });
    clock = 5000;
    expect(pins.kept('acme')).toBeUndefined();
    const late = pins.find('acme');
    await turn();
    questions[2]!.fail();
    await expect(late).rejects.toMatchObject(unavailable);
  });

  it('an answer that was invalidated while it was asked for again is not given', async () => {
    at(0);
    const { pins, questions } = lookUps();
    const first = pins.find('acme');
    await turn();
    questions[0]!.answer('shard0', 5);
    await first;
    clock = 1000;
    const again = pins.find('acme');
    await turn();
    pins.changed(['acme'], 6); // re-pinned, and the database went away
    questions[1]!.fail();
    await expect(again).rejects.toMatchObject(unavailable);
  });

  it('a key that is not known fails, and is asked for again', async () => {
    const { pins, questions } = lookUps();
    const first = pins.find('acme');
    await turn();
    questions[0]!.fail();
    await expect(first).rejects.toMatchObject(unavailable);
    const second = pins.find('acme');
    await turn();
    questions[1]!.answer('shard1', 5);
    expect(await second).toMatchObject({ shard: 'shard1' });
  });
});

describe('many at a time', () => {
  it('are asked a few side by side; beyond a thousand that wait they are refused at once', async () => {
    const { pins, questions } = lookUps();
    const asked = Array.from({ length: 1100 }, async (_, n) => pins.find(`key-${n}`));
    const slots = Array.from({ length: 5 }, () => pins.shardsOfSlot(7));
    const ends = Promise.allSettled([...asked, ...slots]);
    await turn();
    expect(questions).toHaveLength(2);
    for (let n = 0; n < questions.length; n++) {
      questions[n]!.answer('shard0', 1);
      await turn();
    }
    const refused = (await ends).filter(({ status }) => status === 'rejected').length;
    expect(questions.length + refused).toBe(1105);
    expect(refused).toBeGreaterThanOrEqual(100); // more where the machine is so busy that turns came too late
  });

  it('wait for their turn two seconds at most', async () => {
    at(0);
    const { pins, questions } = lookUps({ width: 1 });
    const first = pins.find('first');
    const waiting = Promise.allSettled([pins.find('second'), pins.shardsOfSlot(7)]);
    await turn();
    clock = 2001;
    questions[0]!.answer(null, 1);
    await first;
    const ends = await waiting;
    expect(ends.map((end) => end.status === 'rejected' && (end.reason as object))).toEqual([
      expect.objectContaining(unavailable),
      expect.objectContaining(unavailable),
    ]);
    expect(questions).toHaveLength(1);
  });
});
