import { describe, expect, it } from '@jest/globals';
import { CausalContexts, CausalMarks } from './causal-marks.js';
import { Causality } from './causality.js';
import type { Replica } from './replica.js';

/** A primary at a position, and a replica that has replayed up to another. */
function server() {
  const state = { at: 10n, replayed: 0n, asked: 0 };
  const hasReplayed = (lsn: bigint) => state.replayed >= lsn;
  const replica = {
    hasReplayed,
    reaches: async (lsn: bigint) => hasReplayed(lsn),
    wal: {
      current: async () => {
        state.asked++;
        return state.at;
      },
    },
  } as unknown as Replica;
  return { state, replica };
}

const primary = {};
const { state, replica } = server();
let running: CausalMarks;
const causality = new Causality({ causalMarks: () => running }, primary, 0);
const allows = (marks: CausalMarks) => {
  running = marks;
  return causality.allows(replica);
};
const write = (marks: CausalMarks) => {
  running = marks;
  causality.mark().wrote();
};
const reset = (next: Partial<typeof state> = {}) => {
  Object.assign(state, { at: 10n, replayed: 0n, asked: 0, ...next });
  return new CausalContexts();
};

describe('a context', () => {
  it('sees its own write, and is not held up by those of others', async () => {
    const contexts = reset();
    const [writer, other] = [contexts.request(), contexts.request()];
    write(writer);
    write(contexts.work());
    write(contexts.outside);
    expect([await allows(writer), await allows(other)]).toEqual([false, true]);
    state.replayed = 10n;
    expect(await allows(writer)).toBe(true);
    expect(state.asked).toBe(1);
  });

  it('asks nothing where nobody has written', async () => {
    const contexts = reset();
    for (const marks of [contexts.request(), contexts.work(), contexts.outside]) {
      expect(await allows(marks)).toBe(true);
    }
    expect(state.asked).toBe(0);
  });
});

describe('work outside of every context', () => {
  it('sees its own writes and those of every context', async () => {
    for (const kind of ['request', 'work', 'outside'] as const) {
      const contexts = reset();
      write(kind === 'outside' ? contexts.outside : contexts[kind]());
      expect([kind, await allows(contexts.outside)]).toEqual([kind, false]);
    }
  });

  it('is gone on with by a runFor, which asks no more than it', async () => {
    const contexts = reset();
    write(contexts.outside);
    expect(await allows(contexts.work())).toBe(false);
    for (let times = 0; times < 10; times++) await allows(contexts.work());
    expect(state.asked).toBe(1);
  });
});

describe('a request whose context was lost', () => {
  it('sees what its work has written outside, and is seen there with what it was brought', async () => {
    const contexts = reset({ replayed: 5n });
    const marks = contexts.request();
    marks.of(primary).carry(7n);
    marks.join(contexts.outside);
    expect(await allows(contexts.outside)).toBe(false);
    state.replayed = 7n;
    expect([await allows(contexts.outside), await allows(marks)]).toEqual([true, true]);
    write(contexts.outside);
    expect(await allows(marks)).toBe(false);
    expect(await allows(contexts.request())).toBe(true);
  });

  it('keeps a suspicion', async () => {
    const contexts = reset();
    const marks = contexts.request();
    marks.of(primary).suspect();
    expect(await allows(contexts.outside)).toBe(true);
    marks.join(contexts.outside);
    expect(await allows(contexts.outside)).toBe(false);
    contexts.outside.join(contexts.outside); // itself: nothing
    expect(await allows(contexts.outside)).toBe(false);
  });
});

describe('a carried position', () => {
  it('holds the replica off until that is there', async () => {
    const contexts = reset({ replayed: 7n });
    const marks = contexts.request();
    marks.of(primary).carry(8n);
    expect(await allows(marks)).toBe(false);
    state.replayed = 8n;
    expect(await allows(marks)).toBe(true);
    expect(state.asked).toBe(1);
  });

  it('above the one of the primary is dropped: the primary is another one', async () => {
    const contexts = reset();
    const marks = contexts.request();
    marks.of(primary).carry(11n);
    expect(await allows(marks)).toBe(true);
    expect([marks.get(primary)?.carried, state.asked]).toEqual([undefined, 1]);
  });
});
