import { beforeEach, describe, expect, it } from '@jest/globals';
import { CausalContexts, CausalMark, CausalMarks } from './causal-marks.js';

let mark: CausalMark;
let asked: number;
let answer: () => Promise<bigint>;
const ask = () => {
  asked++;
  return answer();
};

beforeEach(() => {
  mark = new CausalMark();
  asked = 0;
  answer = async () => BigInt(asked);
});

describe('the position of a context', () => {
  it('is asked for once, however many readers there are', async () => {
    mark.wrote();
    expect(await Promise.all(Array.from({ length: 100 }, () => mark.position(ask)))).toEqual(
      Array.from({ length: 100 }, () => 1n),
    );
    expect(await mark.position(ask)).toBe(1n);
    expect(asked).toBe(1);
  });

  it('is asked for again after a later write', async () => {
    mark.wrote();
    expect(await mark.position(ask)).toBe(1n);
    mark.wrote();
    expect(await mark.position(ask)).toBe(2n);
  });

  it('asked for before a write began, and answered after it, does not cover it', async () => {
    let tell: (lsn: bigint) => void = () => undefined;
    answer = () => new Promise((resolve) => (tell = resolve));
    mark.wrote();
    const early = mark.position(ask);
    mark.wrote();
    tell(1n);
    expect(await early).toBe(1n);
    answer = async () => 9n;
    expect(await mark.position(ask)).toBe(9n);
    expect(asked).toBe(2);
  });

  it('that could not be asked for is asked for again; those who waited fail alike', async () => {
    answer = async () => Promise.reject(new Error('down'));
    mark.wrote();
    const failed = await Promise.allSettled([mark.position(ask), mark.position(ask)]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(asked).toBe(1);
    answer = async () => 7n;
    expect(await mark.position(ask)).toBe(7n);
  });

  it('that failed late does not undo what was asked after it', async () => {
    let fail: (error: Error) => void = () => undefined;
    answer = () => new Promise((_resolve, reject) => (fail = reject));
    mark.wrote();
    const early = mark.position(ask);
    mark.wrote();
    answer = async () => 5n;
    expect(await mark.position(ask)).toBe(5n);
    fail(new Error('down'));
    await expect(early).rejects.toThrow('down');
    expect(await mark.position(ask)).toBe(5n);
    expect(asked).toBe(2);
  });
});

it('knows whether it has written; carried positions only grow, and can be dropped', () => {
  expect(mark.dirty).toBe(false);
  mark.wrote();
  expect(mark.dirty).toBe(true);
  expect(mark.carried).toBeUndefined();
  mark.carry(5n);
  mark.carry(3n);
  expect(mark.carried).toBe(5n);
  mark.carry(8n);
  expect(mark.carried).toBe(8n);
  mark.dropCarried();
  expect(mark.carried).toBeUndefined();
});

it('a context has one mark a primary, made when it is needed', () => {
  const marks = new CausalMarks();
  const [one, other] = [{}, {}];
  expect(marks.get(one)).toBeUndefined();
  const first = marks.of(one);
  expect(marks.of(one)).toBe(first);
  expect(marks.get(one)).toBe(first);
  expect(marks.of(other)).not.toBe(first);
});

describe('contexts', () => {
  const primary = {};
  const dirty = (marks: CausalMarks) => marks.covering(primary).filter((one) => one.dirty).length;
  const write = (marks: CausalMarks) => marks.of(primary).wrote();

  it('of requests do not see each other', () => {
    const contexts = new CausalContexts();
    const [one, other] = [contexts.request(), contexts.request()];
    write(one);
    expect([dirty(one), dirty(other)]).toEqual([1, 0]);
    expect([one.dirty, other.dirty]).toEqual([true, false]);
    expect(other.covering(primary)).toEqual([]);
  });

  it('outside of any the writes of all are seen', () => {
    const contexts = new CausalContexts();
    expect(dirty(contexts.outside)).toBe(0);
    write(contexts.request());
    expect(dirty(contexts.outside)).toBe(1);
    write(contexts.work());
    write(contexts.outside);
    expect(dirty(contexts.outside)).toBe(2);
    expect([...contexts.outside.primaries()]).toEqual([primary]);
  });

  it('work that began outside goes on where the work outside was; a request does not', () => {
    const contexts = new CausalContexts();
    write(contexts.outside);
    expect(dirty(contexts.work())).toBe(1);
    expect(dirty(contexts.request())).toBe(0);
  });

  it('that are joined see each other, with what was written and carried before', () => {
    const contexts = new CausalContexts();
    const [around, within] = [contexts.request(), contexts.request()];
    write(within);
    within.of(primary).carry(7n);
    within.join(around);
    within.join(within);
    expect(dirty(around)).toBe(1);
    expect(around.get(primary)?.carried).toBe(7n);
    write(around);
    expect(dirty(within)).toBe(2);
  });
});

it('a position is known once it was asked for, until the next write', async () => {
  expect(mark.known).toBeUndefined();
  mark.wrote();
  expect(mark.known).toBeUndefined();
  await mark.position(ask);
  expect(mark.known).toBe(1n);
  mark.wrote();
  expect(mark.known).toBeUndefined();
});
