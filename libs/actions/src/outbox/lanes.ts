import type { WaitingEvent } from './waiting-event.js';

/** Events of one aggregate, which are delivered one after the other. */
export interface Lane {
  readonly aggregateId: string;
  readonly events: readonly WaitingEvent[];
}

export interface LaneLimits {
  /** Events in memory. */
  readonly events: number;
  /** Of them, those of one aggregate: a busy one leaves room for others. */
  readonly perLane: number;
}

/** The aggregates whose events are in memory. Each has one lane, from when its events were read until their end is written. */
export class Lanes {
  readonly #open = new Map<string, Lane>();
  #events = 0;

  constructor(private readonly limits: LaneLimits) {}

  /** How many more events may be read. */
  get room(): number {
    return this.limits.events - this.#events;
  }

  get size(): number {
    return this.#open.size;
  }

  /** What is not to be read again meanwhile. */
  aggregates(): string[] {
    return [...this.#open.keys()];
  }

  /** @param events in their order. @returns the new lanes; what has no room is read again later */
  open(events: readonly WaitingEvent[]): Lane[] {
    const lanes = new Map<string, WaitingEvent[]>();
    for (const event of events) {
      if (this.#open.has(event.aggregateId)) continue;
      const lane = lanes.get(event.aggregateId) ?? [];
      if (lane.length < this.limits.perLane) lane.push(event);
      lanes.set(event.aggregateId, lane);
    }
    return [...lanes].map(([aggregateId, lane]) => {
      const opened = { aggregateId, events: lane };
      this.#open.set(aggregateId, opened);
      this.#events += lane.length;
      return opened;
    });
  }

  close(lane: Lane): void {
    if (this.#open.delete(lane.aggregateId)) this.#events -= lane.events.length;
  }
}
