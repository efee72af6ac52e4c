import type { Lsn } from './lsn.js';

/** What one context has done on one primary. */
export class CausalMark {
  #writes = 0;
  #asked: { readonly writes: number; readonly lsn: Promise<Lsn> } | undefined;
  #answered: { readonly writes: number; readonly lsn: Lsn } | undefined;
  /** From an earlier request of the same session. */
  #carried: Lsn | undefined;

  /** @param told hears of every write, too */
  constructor(private readonly told?: CausalMark) {}

  /** Called before a write is sent and again when it has ended: what was asked in between does not cover it. */
  wrote(): void {
    this.#writes++;
    this.told?.wrote();
  }

  /** Counts as a write here: an earlier request may have written what nobody knows the position of. */
  suspect(): void {
    this.#writes++;
  }

  /** Whether this context itself has written. */
  get dirty(): boolean {
    return this.#writes > 0;
  }

  /** A position that an earlier request has reached. */
  carry(lsn: Lsn): void {
    if (this.#carried === undefined || lsn > this.#carried) this.#carried = lsn;
  }

  get carried(): Lsn | undefined {
    return this.#carried;
  }

  /** The primary was restored or failed over: a position above its own says nothing any more. */
  dropCarried(): void {
    this.#carried = undefined;
  }

  /** The position that covers every write of this context so far, where it was asked for since. */
  get known(): Lsn | undefined {
    return this.#answered?.writes === this.#writes ? this.#answered.lsn : undefined;
  }

  /** A position that covers every write of this context so far; `ask` is called once for all that wait for it. */
  async position(ask: () => Promise<Lsn>): Promise<Lsn> {
    const writes = this.#writes;
    if (this.#asked?.writes !== writes) this.#asked = { writes, lsn: ask() };
    const asked = this.#asked;
    try {
      const lsn = await asked.lsn;
      if ((this.#answered?.writes ?? 0) < writes) this.#answered = { writes, lsn };
      return lsn;
    } catch (error) {
      if (this.#asked === asked) this.#asked = undefined;
      throw error;
    }
  }
}

interface Relations {
  /** Hears of every write of these marks. */
  readonly told?: CausalMarks;
  /** Reads have to see its writes, too. */
  readonly seen?: CausalMarks;
}

const NONE: readonly CausalMark[] = Object.freeze([]);

/** The marks of one context: a request, an outermost `runFor`, or all work outside of them. Keyed by primary. */
export class CausalMarks {
  readonly #marks = new Map<object, CausalMark>();
  readonly #told: CausalMarks | undefined;
  #seen: CausalMarks | undefined;

  constructor({ told, seen }: Relations = {}) {
    this.#told = told;
    this.#seen = seen;
  }

  /** The mark of a primary, where there is one. */
  get(primary: object): CausalMark | undefined {
    return this.#marks.get(primary);
  }

  /** The same, made at its first use. */
  of(primary: object): CausalMark {
    let mark = this.#marks.get(primary);
    if (!mark) {
      mark = new CausalMark(this.#told?.of(primary));
      this.#marks.set(primary, mark);
    }
    return mark;
  }

  private ownPrimaries(): Iterable<object> {
    return this.#marks.keys();
  }

  /** All marks that a read of this context has to respect. */
  covering(primary: object): readonly CausalMark[] {
    const own = this.#marks.get(primary);
    const seen = this.#seen?.get(primary);
    if (!own) return seen ? [seen] : NONE;
    return seen ? [own, seen] : [own];
  }

  /** The primaries that {@link covering} gives something for. */
  primaries(): ReadonlySet<object> {
    const seen = this.#seen ? this.#seen.ownPrimaries() : [];
    return new Set([...this.#marks.keys(), ...seen]);
  }

  /** Whether any mark that {@link covering} gives counts as written. */
  get dirty(): boolean {
    return [...this.primaries()].some((primary) => this.covering(primary).some((mark) => mark.dirty));
  }

  /** From now on this context and `other` see each other's writes. */
  join(other: CausalMarks): void {
    if (other === this) return;
    this.#seen = other;
    for (const [primary, mark] of this.#marks) {
      if (mark.dirty) other.of(primary).suspect();
      if (mark.carried !== undefined) other.of(primary).carry(mark.carried);
    }
  }
}

/**
 * The contexts of one application. A context sees its own writes, not those of others. Work outside of any is a context
 * of its own, shared by all such work, and careful: it sees everybody's writes, so that what a request or a `runFor` has
 * written is not missed by whoever goes on behind it.
 */
export class CausalContexts {
  readonly #inside = new CausalMarks();
  /** Of the work outside of every request and `runFor`. */
  readonly outside = new CausalMarks({ seen: this.#inside });

  /** For a request. */
  request(): CausalMarks {
    return new CausalMarks({ told: this.#inside });
  }

  /**
   * For a `runFor` that was called outside: it goes on where the work outside is, and so sees what was written there. What
   * other requests and `runFor`s have written it does not see.
   */
  work(): CausalMarks {
    return new CausalMarks({ told: this.#inside, seen: this.outside });
  }
}
