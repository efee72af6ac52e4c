import { beforeEach, describe, expect, it } from '@jest/globals';
import { CausalContexts } from '../../shards/reads/causal-marks.js';
import { Secret } from '../../secret.js';
import { MAX_TOKEN_BYTES, SessionTokens } from './session-token.js';
import { Sessions } from './sessions.js';
import type { SessionPlace } from './sessions.js';

const SECRET = new Secret('a secret of thirty-two bytes ...');

/** A primary and a replica that answer as they are told. */
class FakePlace implements SessionPlace {
  readonly primary = {};
  at = 100n;
  replayed = 0n;
  asked = 0;
  answer: () => Promise<bigint> = async () => this.at;
  readonly replica = {
    wal: {
      current: () => {
        this.asked++;
        return this.answer();
      },
    },
    hasReplayed: (lsn: bigint) => this.replayed >= lsn,
  };
  constructor(readonly name: string) {}
}

let places: FakePlace[];
let sessions: Sessions;
let contexts: CausalContexts;
const place = (index: number) => places[index]!;

beforeEach(() => withPlaces(2));

function withPlaces(count: number): void {
  places = Array.from({ length: count }, (_none, index) => new FakePlace(`shard${index}`));
  sessions = new Sessions(new SessionTokens(SECRET), places);
  contexts = new CausalContexts();
}

/** The token of a context that has written on these places. */
async function afterWriting(...indexes: number[]): Promise<string | undefined> {
  const marks = contexts.request();
  for (const index of indexes) marks.of(place(index).primary).wrote();
  await sessions.settle(marks);
  return sessions.token(marks);
}

/** What a new context with this token gets. */
function admitted(...tokens: (string | undefined)[]) {
  const marks = contexts.request();
  sessions.admit(
    marks,
    tokens.filter((token) => token !== undefined),
  );
  return marks;
}

const carried = (marks: ReturnType<typeof admitted>, index: number) =>
  marks.get(place(index).primary)?.carried;
const suspected = (marks: ReturnType<typeof admitted>, index: number) =>
  marks.get(place(index).primary)?.dirty ?? false;

describe('the token of a context', () => {
  it('does not exist where nothing was written, and nothing is asked', async () => {
    const marks = contexts.request();
    expect(sessions.settle(marks)).toBeUndefined();
    expect(sessions.token(marks)).toBeUndefined();
    expect(place(0).asked).toBe(0);
  });

  it('carries the position of each primary that was written on, asked for once', async () => {
    place(1).at = 200n;
    const token = await afterWriting(0, 1);
    expect(places.map(({ asked }) => asked)).toEqual([1, 1]);
    expect([carried(admitted(token), 0), carried(admitted(token), 1)]).toEqual([100n, 200n]);
  });

  it('asks nothing where a read has asked since the last write', async () => {
    const marks = contexts.request();
    const mark = marks.of(place(0).primary);
    mark.wrote();
    await mark.position(place(0).replica.wal.current);
    expect(sessions.settle(marks)).toBeUndefined();
    expect(carried(admitted(sessions.token(marks)), 0)).toBe(100n);
    mark.wrote();
    await sessions.settle(marks);
    expect(place(0).asked).toBe(2);
  });

  it('says that a position is not known where nobody has asked, or a write came later', async () => {
    const marks = contexts.request();
    marks.of(place(0).primary).wrote();
    expect(suspected(admitted(sessions.token(marks)), 0)).toBe(true);
    await sessions.settle(marks);
    expect(suspected(admitted(sessions.token(marks)), 0)).toBe(false);
    marks.of(place(0).primary).wrote();
    expect(suspected(admitted(sessions.token(marks)), 0)).toBe(true);
  });

  it('says so, too, where a primary fails or stays silent; that delays the others little', async () => {
    place(0).answer = () => Promise.reject(new Error('down'));
    place(1).answer = () => new Promise(() => undefined);
    const before = performance.now();
    const marks = admitted(await afterWriting(0, 1));
    expect(performance.now() - before).toBeLessThan(900);
    expect([suspected(marks, 0), suspected(marks, 1)]).toEqual([true, true]);
  });

  it('keeps a position that the replica shows already: another process may not', async () => {
    place(0).replayed = 1000n;
    expect(carried(admitted(await afterWriting(0)), 0)).toBe(100n);
  });
});

describe('what a context was brought', () => {
  it('is passed on without asking, until the replica shows it', async () => {
    const marks = admitted(await afterWriting(0));
    place(0).asked = 0;
    expect(sessions.settle(marks)).toBeUndefined();
    expect(carried(admitted(sessions.token(marks)), 0)).toBe(100n);
    place(0).replayed = 100n;
    expect(sessions.token(marks)).toBeUndefined();
    expect(place(0).asked).toBe(0);
  });

  it('is kept beside what it writes elsewhere', async () => {
    const marks = admitted(await afterWriting(0));
    marks.of(place(1).primary).wrote();
    await sessions.settle(marks);
    const next = admitted(sessions.token(marks));
    expect([carried(next, 0), carried(next, 1)]).toEqual([100n, 100n]);
  });

  it('gives way to what it writes there, be that below: the primary is another one then', async () => {
    const marks = admitted(await afterWriting(0));
    place(0).at = 7n;
    marks.of(place(0).primary).wrote();
    await sessions.settle(marks);
    expect(carried(admitted(sessions.token(marks)), 0)).toBe(7n);
  });

  it('is not passed on once it was dropped', async () => {
    const marks = admitted(await afterWriting(0));
    marks.get(place(0).primary)?.dropCarried();
    expect(sessions.token(marks)).toBeUndefined();
  });

  it('is all that its tokens say', async () => {
    const first = await afterWriting(0);
    place(0).at = 50n;
    const marks = admitted(await afterWriting(0), first, await afterWriting(1));
    expect([carried(marks, 0), carried(marks, 1)]).toEqual([100n, 100n]);
  });

  it('is asked for where it is not known', async () => {
    const writer = contexts.request();
    writer.of(place(0).primary).wrote();
    const marks = admitted(sessions.token(writer));
    await sessions.settle(marks);
    expect(carried(admitted(sessions.token(marks)), 0)).toBe(100n);
  });

  it('ignores shards that are no more', async () => {
    const token = await afterWriting(0, 1);
    const later = new Sessions(new SessionTokens(SECRET), [place(1)]);
    const marks = contexts.request();
    later.admit(marks, [token ?? '']);
    expect([...marks.primaries()]).toEqual([place(1).primary]);
  });
});

describe('on 200 shards', () => {
  beforeEach(() => withPlaces(200));

  it('what does not fit sends every read to ask its primary, and nothing is lost', async () => {
    const token = await afterWriting(...places.keys());
    expect(Buffer.byteLength(token ?? '')).toBeLessThanOrEqual(MAX_TOKEN_BYTES);
    const marks = admitted(token);
    expect(places.filter(({ primary }) => !marks.get(primary)?.dirty)).toEqual([]);
    places.forEach((one, index) => (one.replayed = index < 3 ? 0n : 1000n));
    await sessions.settle(marks);
    const next = admitted(sessions.token(marks));
    expect(places.filter(({ primary }) => next.get(primary)).map(({ name }) => name)).toEqual([
      'shard0',
      'shard1',
      'shard2',
    ]);
  });
});

it('without a secret or a replica there are no sessions', async () => {
  const off = Sessions.create({ readYourWrites: 'request', causalWaitMs: 0, probeIntervalMs: 1 }, []);
  const alone = new Sessions(new SessionTokens(SECRET), []);
  expect([off.active, alone.active, sessions.active]).toEqual([false, false, true]);
  const marks = contexts.request();
  marks.of(place(0).primary).wrote();
  off.admit(marks, ['x']);
  expect([off.settle(marks), off.token(marks), alone.settle(marks), alone.token(marks)]).toEqual(
    Array.from({ length: 4 }, () => undefined),
  );
});
