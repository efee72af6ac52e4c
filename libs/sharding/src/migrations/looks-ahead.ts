import type { MigrationTarget } from './migration-target.js';

/** Targets looked at at a time, where one after the other has had nothing to do. */
const WIDTH = 8;

/**
 * Looks whether targets are up to date. Behind one that is, those that follow probably are too, and are looked at before
 * their turn: a call with nothing to do takes a fraction of the time. Behind one that is not nobody is.
 *
 * What was seen ahead counts where it is an answer. Where it is none, the target is asked again in its turn.
 */
export class LooksAhead {
  readonly #ahead = new Map<string, Promise<boolean | undefined>>();
  #width = 1;

  constructor(private readonly look: (target: MigrationTarget) => Promise<boolean>) {}

  /** @param following those whose turn comes after it. @throws what the look throws */
  async isDone(target: MigrationTarget, following: readonly MigrationTarget[]): Promise<boolean> {
    const seen = this.#ahead.get(target.name);
    this.#ahead.delete(target.name);
    for (const next of following.slice(0, this.#width - 1)) {
      if (!this.#ahead.has(next.name))
        this.#ahead.set(
          next.name,
          this.look(next).catch(() => undefined),
        );
    }
    this.#width = 1;
    const done = (await seen) ?? (await this.look(target));
    if (done) this.#width = WIDTH;
    return done;
  }

  /** When nobody is being looked at any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#ahead.values());
  }
}
