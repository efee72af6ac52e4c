/** Which pool something happened on. */
export interface Place {
  /** `control` or `shard:<name>`. */
  readonly target: string;
  /** The shard's name; `control` for the control database. */
  readonly shard: string;
  readonly role: 'primary' | 'replica';
}

/** What is told of each statement. Times in milliseconds; `startedAt` on the clock of `performance.now()`. */
export interface StatementEvent {
  readonly sql: string;
  readonly startedAt: number;
  readonly ms: number;
  readonly error?: unknown;
}

/** What is told of each HTTP request that has ended. */
export interface RequestEvent {
  readonly method: string;
  /** The template, such as `/notes/:id`; undefined where no route matched. Never the URL. */
  readonly route: string | undefined;
  readonly status: number;
  /** The shard that it was routed to; `none`, or `several`. */
  readonly shard: string;
  readonly ms: number;
}

/** What is told of each read over all shards. */
export interface ScatterSummary {
  readonly method: string;
  readonly entity: string;
  readonly ms: number;
  /** `ok`, `partial`, or the code of the failure. */
  readonly outcome: string;
}

/** What is told of each use of a shard that stands in for one that is not registered. */
export interface StandInEvent {
  readonly entity: string;
  /** The shard that stands in. */
  readonly shard: string;
}

/** Watches every database of the process; a method that throws is not tolerated, so it must not. */
export interface DatabaseObserver {
  /** Asked before each event: while nobody listens nothing is measured. Absent: always. */
  listening?(): boolean;
  /** A connection was taken from the pool, or could not be had. */
  checkout?(place: Place, waitMs: number, error?: unknown): void;
  statement?(place: Place, event: StatementEvent): void;
  /** From BEGIN to the end. */
  transaction?(place: Place, event: Omit<StatementEvent, 'sql'>): void;
  request?(event: RequestEvent): void;
  scatter?(event: ScatterSummary): void;
  standIn?(event: StandInEvent): void;
}

/** Hands what happens on databases to whoever observes it. Costs nothing while nobody does. */
export class Telemetry {
  readonly #observers = new Set<DatabaseObserver>();

  get active(): boolean {
    for (const observer of this.#observers) if (observer.listening?.() ?? true) return true;
    return false;
  }

  get watchesRequests(): boolean {
    return [...this.#observers].some(({ request }) => request !== undefined);
  }

  /** Gives the function that ends the observation. */
  observe(observer: DatabaseObserver): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  checkout(place: Place, waitMs: number, error?: unknown): void {
    for (const observer of this.#observers) observer.checkout?.(place, waitMs, error);
  }

  statement(place: Place, event: StatementEvent): void {
    for (const observer of this.#observers) observer.statement?.(place, event);
  }

  transaction(place: Place, event: Omit<StatementEvent, 'sql'>): void {
    for (const observer of this.#observers) observer.transaction?.(place, event);
  }

  request(event: RequestEvent): void {
    for (const observer of this.#observers) observer.request?.(event);
  }

  scatter(event: ScatterSummary): void {
    for (const observer of this.#observers) observer.scatter?.(event);
  }

  standIn(event: StandInEvent): void {
    for (const observer of this.#observers) observer.standIn?.(event);
  }
}
