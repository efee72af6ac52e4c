import { ShardingError } from '@app/routing';
import type { OutboxOptions } from './outbox.options.js';

/** {@link OutboxOptions}, complete. */
export type OutboxSettings = Readonly<Required<Omit<OutboxOptions, 'publishers'>>>;

/** Token of the {@link OutboxSettings}. */
export const OUTBOX_SETTINGS = Symbol.for('nestjs-sharding.outbox-settings');

const DEFAULTS: OutboxSettings = {
  relay: 'on',
  leaseMs: 15_000,
  idleMs: 1000,
  statusMs: 10_000,
  batchSize: 500,
  handlerTimeoutMs: 30_000,
  maxAttempts: 20,
  firstRetryMs: 1000,
  mostRetryMs: 600_000,
  shutdownMs: 5000,
  deliveredDays: 0,
  deadDays: 30,
  inboxDays: 60,
  sagaDays: 30,
};

const MAX_TIMER_MS = 2 ** 31 - 1;
type Bounded = Exclude<keyof OutboxSettings, 'relay'>;

/** Least and most of each number. */
const BOUNDS: Record<Bounded, readonly [number, number]> = {
  leaseMs: [300, 3_600_000],
  idleMs: [1, 60_000],
  statusMs: [10, 3_600_000],
  batchSize: [1, 10_000],
  handlerTimeoutMs: [1, MAX_TIMER_MS],
  maxAttempts: [1, 1_000_000],
  firstRetryMs: [1, MAX_TIMER_MS],
  mostRetryMs: [1, MAX_TIMER_MS],
  shutdownMs: [0, MAX_TIMER_MS],
  deliveredDays: [0, 36_500],
  deadDays: [1, 36_500],
  inboxDays: [1, 36_500],
  sagaDays: [1, 36_500],
};

/** @throws ShardingError `invalid_options` with every mistake */
export function resolveOutbox({ publishers: _publishers, ...options }: OutboxOptions = {}): OutboxSettings {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const settings: OutboxSettings = { ...DEFAULTS, ...Object.fromEntries(given) };
  const problems = [
    ...given.filter(([key]) => !(key in DEFAULTS)).map(([key]) => `outbox.${key}: unknown key`),
    ...(['on', 'off'].includes(settings.relay) ? [] : ['outbox.relay: must be "on" or "off"']),
    ...Object.entries(BOUNDS).flatMap(([key, bounds]) => problemOf(key, settings[key as Bounded], bounds)),
    ...(settings.inboxDays < settings.deadDays
      ? ['outbox.inboxDays: must not be less than outbox.deadDays, or a dead letter could be handled twice']
      : []),
  ];
  if (problems.length > 0) throw new ShardingError('invalid_options', problems.join('; '));
  return Object.freeze(settings);
}

function problemOf(key: string, value: unknown, [least, most]: readonly [number, number]): string[] {
  if (Number.isInteger(value) && Number(value) >= least && Number(value) <= most) return [];
  return [`outbox.${key}: must be a whole number from ${least} to ${most}`];
}
