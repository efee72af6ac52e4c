import type { CronOptions } from './cron.decorator.js';

/** How often a failed attempt is followed by another one. */
export interface RetryOptions {
  /** Attempts after the first one, 0 to 100. Default 3. */
  readonly limit?: number;
  /** Before the next attempt, 0 to 86400. Default 5. */
  readonly delaySeconds?: number;
  /** `exponential` (default): the delay doubles with each attempt, with jitter. */
  readonly backoff?: 'exponential' | 'fixed';
}

/** Whether a job of this name has a routing key. */
export const ROUTING_KEY_USES = ['optional', 'required', 'none'] as const;
export type RoutingKeyUse = (typeof ROUTING_KEY_USES)[number];

export interface JobOptions {
  /** `required`: sending without one is an error; `none`: with one. Default `optional`. */
  readonly routingKey?: RoutingKeyUse;
  /** Default for jobs that are sent without. */
  readonly retry?: RetryOptions;
  /** Bound of one attempt; after it the job is another worker's. 1 to 86399. Default 300. */
  readonly leaseSeconds?: number;
  /** Jobs of this name at a time in each process, 1 to 100. Default 1. */
  readonly concurrency?: number;
}

/** What a handler is told beside the payload. */
export interface JobContext<Key = unknown> {
  readonly id: string;
  readonly name: string;
  /** 1 is the first one. */
  readonly attempt: number;
  /** What the handler is routed by; undefined for a job without one. */
  readonly routingKey: Key | undefined;
  /** Fires when the lease ends, and when the process stops. Statements under way are cancelled then. */
  readonly signal: AbortSignal;
}

/** One decoration of a method. */
export interface JobMark extends JobOptions {
  readonly name: string;
  /** Set by `@Cron`. */
  readonly cron?: CronOptions & { readonly expression: string };
}

const MARK = Symbol.for('nestjs-sharding.job');

/** `handle(payload, job)`. */
type Handler = (payload: never, job: JobContext<never>) => unknown;
export type HandlerDecorator = <H extends Handler>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<H>,
) => void;

/**
 * Makes a method of a provider the handler of a job, at least once for each job that is sent. A job with a routing key runs
 * inside of `shards.runFor(key)`, so that repositories are those of its tenant, wherever it lives by then.
 *
 * @example \@Job('reindex-tenant', { routingKey: 'required' }) reindex(payload: Reindex, job: JobContext) { ... }
 * @param name unique and permanent: letters, digits, `-`, `_` and `.`, 100 at most
 */
export function Job(name: string, options: JobOptions = {}): HandlerDecorator {
  return markedAs({ ...options, name });
}

export function markedAs(mark: JobMark): HandlerDecorator {
  return (_target, _method, descriptor) => {
    const handler = descriptor.value as object;
    Object.defineProperty(handler, MARK, { value: [...marksOf(handler), mark], configurable: true });
  };
}

/** The decorations of a method. */
export function marksOf(method: unknown): readonly JobMark[] {
  if (typeof method !== 'function') return [];
  return (method as { [MARK]?: readonly JobMark[] })[MARK] ?? [];
}
