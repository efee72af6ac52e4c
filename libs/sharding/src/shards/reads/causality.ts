import type { CausalMark, CausalMarks } from './causal-marks.js';
import type { MaybePromise } from '../maybe-promise.js';
import type { Replica } from './replica.js';

/** Where the marks of the running work are kept; implemented by the routing context. */
export interface CausalContext {
  /** Those of the request or `runFor` that the caller runs in, else of the work outside of them. */
  causalMarks(): CausalMarks;
}

/** Read-your-writes of one primary and its replica. */
export class Causality {
  constructor(
    private readonly context: CausalContext,
    private readonly primary: object,
    private readonly waitMs: number,
  ) {}

  /** The mark of the running context, to be set before a write. */
  mark(): CausalMark {
    return this.context.causalMarks().of(this.primary);
  }

  /**
   * Whether the replica shows all that the running context has to see. The primary is asked for its position at most
   * once after a write; where nothing was written nothing is asked.
   *
   * @throws the driver's error when the primary does not answer
   */
  allows(replica: Replica): MaybePromise<boolean> {
    const marks = [...this.context.causalMarks().covering(this.primary)];
    const asked = marks.filter((mark) => mark.dirty || mark.carried !== undefined);
    return asked.length === 0 || this.showsAll(asked, replica);
  }

  private async showsAll(marks: readonly CausalMark[], replica: Replica): Promise<boolean> {
    for (const mark of marks) {
      if (!(await this.shows(mark, replica))) return false;
    }
    return true;
  }

  private async shows(mark: CausalMark, replica: Replica): Promise<boolean> {
    if (mark.dirty) {
      const written = await mark.position(() => replica.wal.current());
      if (!(await replica.reaches(written, this.waitMs))) return false;
    }
    return this.carriedIsReached(mark, replica);
  }

  /** A position carried from elsewhere may be of a primary that is no more: then it is dropped. */
  private async carriedIsReached(mark: CausalMark, replica: Replica): Promise<boolean> {
    const { carried } = mark;
    if (carried === undefined || replica.hasReplayed(carried)) return true;
    if (carried > (await replica.wal.current())) {
      mark.dropCarried();
      return true;
    }
    return replica.reaches(carried, this.waitMs);
  }
}
