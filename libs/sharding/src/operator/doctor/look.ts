import { readOnly } from '../../shards/read-only.js';
import type pg from 'pg';

export type Read<T> = (client: pg.Client) => Promise<T>;

/** Looks at one database: each question is a short read-only transaction, and is asked once however many checks want it. */
export class Look {
  readonly #answers = new Map<unknown, Promise<unknown>>();

  constructor(
    private readonly client: pg.Client,
    private readonly limitMs: number,
  ) {}

  /** @throws the driver's error */
  read<T>(question: Read<T>): Promise<T> {
    const known = this.#answers.get(question) as Promise<T> | undefined;
    if (known) return known;
    const answer = readOnly(this.client, () => question(this.client), this.limitMs);
    this.#answers.set(question, answer);
    return answer;
  }

  /**
   * The same for a question that has a transaction of its own.
   *
   * @param question is given the bound of each of its statements
   */
  alone<T>(question: (client: pg.Client, limitMs: number) => Promise<T>): Promise<T> {
    return question(this.client, this.limitMs);
  }
}
