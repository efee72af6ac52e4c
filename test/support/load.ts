import { call, type Answer } from './bookmarks.js';

/** One request of a load and its end. */
export interface LoadAnswer extends Answer {
  readonly tenant: string;
  /** What was written, unique in the load; undefined for a read. */
  readonly text?: string | undefined;
}

export interface LoadOptions {
  readonly url: string;
  readonly tenants: readonly string[];
  /** Requests under way at a time for each tenant. Default 4. */
  readonly lanes?: number;
  /** Every how many requests of a lane one writes. Default 2. */
  readonly writeEvery?: number;
}

/** Requests to the notes service, side by side, until it is stopped. Every answer is kept. */
export class Load {
  readonly answers: LoadAnswer[] = [];
  readonly #lanes: Promise<void>[];
  #stopped = false;

  constructor(private readonly options: LoadOptions) {
    const { tenants, lanes = 4 } = options;
    this.#lanes = tenants.flatMap((tenant) =>
      Array.from({ length: lanes }, (_none, lane) => this.#lane(tenant, lane)),
    );
  }

  /** Lets the requests under way end; returns all answers. Rejects when one got none. */
  async stop(): Promise<readonly LoadAnswer[]> {
    this.#stopped = true;
    await Promise.all(this.#lanes);
    return this.answers;
  }

  of(tenant: string): readonly LoadAnswer[] {
    return this.answers.filter((answer) => answer.tenant === tenant);
  }

  /** How many requests of a tenant have ended well. */
  good(tenant: string): number {
    return this.of(tenant).filter(({ status }) => status < 300).length;
  }

  async #lane(tenant: string, lane: number): Promise<void> {
    const { url, writeEvery = 2 } = this.options;
    for (let turn = 0; !this.#stopped; turn++) {
      const text = turn % writeEvery === 0 ? `${tenant}-${lane}-${turn}` : undefined;
      const answer = await call(`${url}/notes`, { tenant, ...(text !== undefined && { json: { text } }) });
      this.answers.push({ ...answer, tenant, text });
    }
  }
}

/** The `code` of a `ShardingError` in an answer. */
export function codeOf({ body }: Pick<Answer, 'body'>): string | undefined {
  return (body as { code?: string }).code;
}

/** How often each status and code occurs, `503 shard_unavailable` say. */
export function summary(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) {
    const key = [answer.status, codeOf(answer)].join(' ').trim();
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}
