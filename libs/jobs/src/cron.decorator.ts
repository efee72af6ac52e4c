import { markedAs } from './job.decorator.js';
import type { HandlerDecorator, JobOptions } from './job.decorator.js';

export interface CronOptions extends Omit<JobOptions, 'routingKey'> {
  /** Unique and permanent, as a job's. */
  readonly name: string;
  /** Name of the time zone that the expression is read in. Default `UTC`. */
  readonly timeZone?: string;
}

/** The payload of a handler with `@Cron`. */
export interface CronTick {
  /** When it was due, ISO 8601 in UTC. */
  readonly dueAt: string;
}

/**
 * Runs a method at every time that the expression names, once in the whole fleet, as a job with its retries. The times are
 * those of the control database's clock. What was missed because no process, or no control database, was there is made good
 * once, within an hour.
 *
 * @example \@Cron('0 3 * * *', { name: 'nightly' }) nightly(tick: CronTick) { ... }
 * @param expression five fields, or six with seconds in front
 */
export function Cron(expression: string, options: CronOptions): HandlerDecorator {
  return markedAs({ ...options, routingKey: 'none', cron: { ...options, expression } });
}
