import { MetadataScanner } from '@nestjs/core';
import { ShardingError } from '@app/routing';
import { cronProblems } from './due-time.js';
import { marksOf, ROUTING_KEY_USES } from './job.decorator.js';
import { rangeProblem } from './jobs.options.js';
import type { DiscoveryService } from '@nestjs/core';
import type { JobContext, JobMark, RetryOptions } from './job.decorator.js';

/** A handler with all its options. */
export interface JobHandler extends Required<Omit<JobMark, 'cron' | 'retry'>> {
  readonly retry: Required<RetryOptions>;
  readonly cron: JobMark['cron'];
  call(payload: unknown, job: JobContext): unknown;
}

type Provider = ReturnType<DiscoveryService['getProviders']>[number];

const RETRY: Required<RetryOptions> = { limit: 3, delaySeconds: 5, backoff: 'exponential' };
const NAME = /^[A-Za-z0-9][\w.-]{0,99}$/;

/** The handlers of the application, found at the first use: by then every provider is there. */
export class JobHandlers {
  #found: ReadonlyMap<string, JobHandler> | undefined;

  constructor(private readonly discovery: DiscoveryService) {}

  /** @throws ShardingError `invalid_options` with every problem */
  get byName(): ReadonlyMap<string, JobHandler> {
    return (this.#found ??= findHandlers(this.discovery));
  }
}

/**
 * The handlers of all providers by name.
 *
 * @throws ShardingError `invalid_options` with every problem: names given twice, options out of range, request scope
 */
export function findHandlers(discovery: DiscoveryService): Map<string, JobHandler> {
  const problems: string[] = [];
  const handlers = new Map<string, JobHandler>();
  const seen = new Set<unknown>(); // a provider may stand under several tokens
  for (const provider of [...discovery.getProviders(), ...discovery.getControllers()]) {
    const { metatype, instance } = provider;
    if (typeof metatype !== 'function' || seen.has(instance ?? metatype)) continue;
    seen.add(instance ?? metatype);
    for (const handler of handlersOf(provider, problems)) {
      if (handlers.has(handler.name)) problems.push(`two handlers have the name "${handler.name}"`);
      handlers.set(handler.name, handler);
    }
  }
  if (problems.length === 0) return handlers;
  throw new ShardingError('invalid_options', ['the jobs have problems:', ...problems].join('\n  - '));
}

function handlersOf(provider: Provider, problems: string[]): JobHandler[] {
  const instance = provider.instance as Record<string, JobHandler['call']> | undefined;
  const prototype = prototypeOf(provider);
  if (!prototype) return [];
  return new MetadataScanner().getAllMethodNames(prototype).flatMap((method) =>
    marksOf(prototype[method]).map((mark) => {
      if (!provider.isDependencyTreeStatic()) {
        problems.push(`"${mark.name}" is a method of a request-scoped provider: make it a singleton`);
      }
      problems.push(...markProblems(mark));
      return completed(mark, (payload, job) => instance?.[method]?.(payload, job));
    }),
  );
}

function completed(mark: JobMark, call: JobHandler['call']): JobHandler {
  const { routingKey = 'optional', leaseSeconds = 300, concurrency = 1, cron, name } = mark;
  return { name, routingKey, leaseSeconds, concurrency, cron, call, retry: { ...RETRY, ...mark.retry } };
}

/** Nothing, or why the retries cannot be done. */
export function retryProblems(retry: RetryOptions): string[] {
  const { limit, delaySeconds, backoff } = { ...RETRY, ...retry };
  return [
    ...rangeProblem('retry.limit', limit, [0, 100]),
    ...rangeProblem('retry.delaySeconds', delaySeconds, [0, 86_400]),
    ...(['exponential', 'fixed'].includes(backoff) ? [] : ['retry.backoff is exponential or fixed']),
  ];
}

function markProblems({ name, routingKey, retry = {}, leaseSeconds, concurrency, cron }: JobMark): string[] {
  const problems = [
    ...(NAME.test(name) ? [] : ['a name is up to 100 letters, digits, -, _ and .']),
    ...(routingKey === undefined || ROUTING_KEY_USES.includes(routingKey)
      ? []
      : [`routingKey is one of ${ROUTING_KEY_USES.join(', ')}`]),
    ...retryProblems(retry),
    ...rangeProblem('leaseSeconds', leaseSeconds ?? 1, [1, 86_399]),
    ...rangeProblem('concurrency', concurrency ?? 1, [1, 100]),
    ...(cron ? cronProblems(cron.expression, cron.timeZone) : []),
  ];
  return problems.map((problem) => `"${name}": ${problem}`);
}

function prototypeOf({ instance, metatype }: Provider): Record<string, unknown> | undefined {
  const of = instance ?? (metatype as { prototype?: unknown } | null)?.prototype;
  if (typeof of !== 'object' || of === null) return undefined;
  return (of === instance ? Object.getPrototypeOf(of) : of) as Record<string, unknown> | undefined;
}
