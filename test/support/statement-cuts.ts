import { MessageScanner, sqlOf } from './protocol-messages.js';

/** `before`: the server never gets the statement. `after`: it has answered, and the client never hears. */
export type CutMoment = 'before' | 'after';

/** `reset`: RST on both sides. `silent`: both sockets stay open and nothing passes any more, as when a cable is cut. */
export type CutManner = 'reset' | 'silent';

export interface Cut {
  readonly when: CutMoment;
  readonly how: CutManner;
}

interface PlannedCut extends Cut {
  readonly pattern: RegExp;
  /** Matching statements that pass before. */
  passing: number;
}

/** The cuts that a test has planned for the connections of one proxy; each happens once. */
export class StatementCuts {
  readonly #planned: PlannedCut[] = [];
  #happened = 0;
  #seen = 0;

  /** Statements that were sent so far. */
  get seen(): number {
    return this.#seen;
  }

  /** Cuts that have happened. */
  get happened(): number {
    return this.#happened;
  }

  /** @param passing how many matching statements get through before */
  plan(pattern: RegExp, cut: Cut, passing = 0): void {
    this.#planned.push({ ...cut, pattern, passing });
  }

  /** Of planned cuts that have not come. */
  forget(): void {
    this.#planned.length = 0;
  }

  /** The cut that is due at a statement; from now on it belongs to the caller. */
  take(sql: string): Cut | undefined {
    this.#seen++;
    for (const cut of this.#planned.filter(({ pattern }) => sql.search(pattern) >= 0)) {
      if (cut.passing-- > 0) continue;
      this.#planned.splice(this.#planned.indexOf(cut), 1);
      return cut;
    }
    return undefined;
  }

  count(): void {
    this.#happened++;
  }
}

/** What becomes of a chunk: how much of it passes, and whether the connection is cut then. */
export interface Verdict {
  readonly passes: Buffer;
  readonly cut?: CutManner;
}

/** Reads along one connection and says where a planned cut is due. */
export class CutWatch {
  readonly #cuts: StatementCuts;
  readonly #client = new MessageScanner('client', 'QP');
  readonly #server = new MessageScanner('server');
  /** Answers (ReadyForQuery) that the server owes for what it was sent; the first one ends the log-in. */
  #owed = 1;
  #answered = 0;
  /** A cut that waits for the answer with this number. */
  #due: { readonly how: CutManner; readonly answer: number } | undefined;

  constructor(cuts: StatementCuts) {
    this.#cuts = cuts;
  }

  fromClient(chunk: Buffer): Verdict {
    for (const message of this.#client.push(chunk)) {
      const sql = sqlOf(message);
      const cut = sql === undefined || this.#due ? undefined : this.#cuts.take(sql);
      if (cut?.when === 'before') {
        this.#cuts.count();
        return { passes: chunk.subarray(0, message.start), cut: cut.how };
      }
      if (cut) this.#due = { how: cut.how, answer: this.#owed + 1 };
      if (message.type === 'Q' || message.type === 'S') this.#owed++;
    }
    return { passes: chunk };
  }

  /** From the moment a statement is to be cut `after`, the client hears nothing. */
  fromServer(chunk: Buffer): Verdict {
    this.#answered += this.#server.push(chunk).filter(({ type }) => type === 'Z').length;
    if (!this.#due) return { passes: chunk };
    const passes = Buffer.alloc(0);
    if (this.#answered < this.#due.answer) return { passes };
    this.#cuts.count();
    return { passes, cut: this.#due.how };
  }
}
