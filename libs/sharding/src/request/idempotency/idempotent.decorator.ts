import { createParamDecorator, SetMetadata } from '@nestjs/common';
import { ShardingError } from '@app/routing';
import { rawRequest } from '../http-request.js';
import type { ExecutionContext } from '@nestjs/common';
import type { EntityManager } from 'typeorm';

export interface IdempotentOptions {
  /**
   * Where keys and answers are kept. `shard` (default): on the tenant's own shard, in the transaction of the work.
   * `control`: on the control database, for work that is not sharded; what the handler writes by {@link IdempotentTx}
   * commits with the key, everything else by itself.
   */
  readonly store?: 'shard' | 'control';
  /** `required` (default): a request without `Idempotency-Key` is 400; `optional`: it runs as without the decorator. */
  readonly key?: 'required' | 'optional';
  /** How long an answer is kept. 1 to 8760; default 24. */
  readonly retentionHours?: number;
  /** How long a duplicate waits for the first request, before 409. 0 to 60000; default 5000. */
  readonly waitMs?: number;
  /** Bytes of an answer as JSON, 1 to 1048576; default 65536. A longer one is an error, and nothing is written. */
  readonly maxAnswerBytes?: number;
  /** Whom a key belongs to beside the tenant, for example the user of a request without one. */
  readonly scope?: (context: ExecutionContext) => string;
}

const IDEMPOTENT = Symbol.for('nestjs-sharding.idempotent');

type Settings = Required<Omit<IdempotentOptions, 'scope'>> & Pick<IdempotentOptions, 'scope'>;

const DEFAULTS = {
  store: 'shard',
  key: 'required',
  retentionHours: 24,
  waitMs: 5000,
  maxAnswerBytes: 65_536,
} as const satisfies Settings;

const RANGES = { retentionHours: [1, 8760], waitMs: [0, 60_000], maxAnswerBytes: [1, 1_048_576] } as const;

/**
 * Runs a handler once for each `Idempotency-Key` of a tenant, method and path. It runs in one transaction with the key: both
 * commit, or none. A later request with the same key gets the stored status and JSON, with `Idempotent-Replayed: true`.
 *
 * @throws ShardingError `invalid_options` for a number out of range
 */
export function Idempotent(options: IdempotentOptions = {}): MethodDecorator {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const settings: Settings = { ...DEFAULTS, ...given };
  for (const [name, [from, to]] of Object.entries(RANGES)) {
    const value = settings[name as keyof typeof RANGES];
    if (Number.isInteger(value) && value >= from && value <= to) continue;
    throw new ShardingError(
      'invalid_options',
      `@Idempotent: ${name} is a whole number from ${from} to ${to}`,
    );
  }
  return SetMetadata(IDEMPOTENT, settings);
}

/** What a handler was decorated with. */
export function idempotentSettings(handler: object): Settings | undefined {
  return Reflect.getMetadata(IDEMPOTENT, handler) as Settings | undefined;
}

export type { Settings as IdempotentSettings };

const transactions = new WeakMap<object, EntityManager>();

/** Lets {@link IdempotentTx} find the transaction of a request. */
export function noteTransaction(request: object, manager: EntityManager): void {
  transactions.set(rawRequest(request), manager);
}

/** Injects the `EntityManager` of the transaction that an {@link Idempotent} handler runs in; without a key, of none. */
export const IdempotentTx: () => ParameterDecorator = createParamDecorator((_data: unknown, context) => {
  const manager = transactions.get(rawRequest(context.switchToHttp().getRequest<object>()));
  if (manager) return manager;
  throw new ShardingError('invalid_options', '@IdempotentTx() is for HTTP handlers with @Idempotent()');
});
