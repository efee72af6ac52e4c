import { describe, expect, it } from '@jest/globals';
import { waitFor } from '@test/support';

describe('waitFor', () => {
  it('returns the first value that is neither undefined nor false', async () => {
    const answers = [undefined, false, 0];
    expect(await waitFor(async () => answers.shift(), { what: 'a value', everyMs: 1 })).toBe(0);
  });

  it('names the condition and the last error at the deadline', async () => {
    const failing = waitFor(() => Promise.reject(new Error('not there')), {
      what: 'the moon',
      timeoutMs: 20,
      everyMs: 5,
    });
    await expect(failing).rejects.toThrow('gave up after 20 ms waiting for the moon; last error: not there');
  });

  it('does not wait for a check that never answers', async () => {
    const hanging = waitFor(() => new Promise<undefined>(() => undefined), {
      what: 'an echo',
      timeoutMs: 20,
    });
    await expect(hanging).rejects.toThrow('waiting for an echo; last error: the check itself did not answer');
  });
});
