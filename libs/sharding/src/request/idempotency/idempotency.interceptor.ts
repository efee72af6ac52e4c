import { setTimeout as pause } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { from, lastValueFrom } from 'rxjs';
import { ShardingError } from '@app/routing';
import { Shards } from '../../shards/shards.js';
import { pathOf } from '../http-request.js';
import { CONTROL_DATA_SOURCE } from '../inject-control.decorator.js';
import { RoutingContext } from '../routing-context.js';
import { answerOf } from './answer.js';
import { Expiry } from './expiry.js';
import { fingerprintOf, scopeOf, tenantText } from './fingerprint.js';
import { idempotencyKeyOf } from './idempotency-key.js';
import { claim, storeAnswer, storedAnswer } from './idempotency-rows.js';
import { idempotentSettings, noteTransaction } from './idempotent.decorator.js';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import type { KeyedRequest, StoredAnswer } from './idempotency-rows.js';
import type { IdempotentSettings } from './idempotent.decorator.js';

/** Where a request's key is kept: one transaction there holds the key and the work. */
interface Place {
  readonly name: string;
  /** Outside of a transaction. */
  readonly manager: EntityManager;
  tx<T>(work: (manager: EntityManager) => Promise<T>): Promise<T>;
}

/** One call of a decorated handler. */
interface Call {
  readonly execution: ExecutionContext;
  readonly next: CallHandler;
  readonly settings: IdempotentSettings;
  readonly keyed: KeyedRequest;
}

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;

const REPLAYED = 'Idempotent-Replayed';

/**
 * Runs handlers with `@Idempotent()` in one transaction with their key. It is the first of all interceptors: what it stores is
 * what the client gets, after every serializer.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  @Inject(CONTROL_DATA_SOURCE) private readonly control: DataSource | undefined;
  readonly #expiry = new Expiry();

  constructor(
    @Inject(Shards) private readonly shards: Shards,
    @Inject(RoutingContext) private readonly context: RoutingContext,
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
  ) {}

  intercept(execution: ExecutionContext, next: CallHandler): Observable<unknown> {
    const settings = idempotentSettings(execution.getHandler());
    if (!settings || execution.getType() !== 'http') return next.handle();
    const request = execution.switchToHttp().getRequest<object>();
    return from(this.context.runRequest(request, () => this.#handle({ execution, next, settings })));
  }

  async #handle(given: Omit<Call, 'keyed'>): Promise<unknown> {
    const { execution, settings } = given;
    const request = execution.switchToHttp().getRequest<object>();
    const key = idempotencyKeyOf(request, settings.key);
    const place = await this.#placeOf(request, settings);
    if (key === undefined) return this.#work(place.manager, given); // as without the decorator
    const call: Call = { ...given, keyed: await this.#keyed(key, given) };
    const endsAt = performance.now() + settings.waitMs;
    for (let waitMs = FIRST_PAUSE_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_PAUSE_MS)) {
      const done = await this.#attempt(place, call);
      if (done) {
        this.#expiry.note(place.name, (batch) => this.#onOwnRunner(place, batch));
        return done.value;
      }
      if (performance.now() + waitMs > endsAt) throw inProgress();
      await pause(waitMs);
    }
  }

  /** Undefined: another request has the key and is not done. */
  async #attempt(place: Place, call: Call): Promise<{ readonly value: unknown } | undefined> {
    try {
      return await place.tx((manager) => this.#inTransaction(manager, call));
    } catch (error) {
      if (error instanceof NotKept) return { value: error.value };
      throw error;
    }
  }

  async #inTransaction(manager: EntityManager, call: Call) {
    const { keyed } = call;
    const runner = manager.queryRunner;
    if (!runner) throw new Error('a transaction has a query runner');
    if (!(await claim(runner, keyed))) {
      const stored = await storedAnswer(runner, keyed);
      return stored && { value: this.#replay(stored, call, keyed) };
    }
    const value = await this.#work(manager, call);
    const response = call.execution.switchToHttp().getResponse<object>();
    const answer = answerOf(value, response, call.settings.maxAnswerBytes);
    if (answer.status >= 500) throw new NotKept(value); // the work has failed in its own words
    await storeAnswer(runner, keyed, answer);
    return { value };
  }

  /** The handler, with all interceptors behind this one. */
  #work(manager: EntityManager, { execution, next }: Omit<Call, 'keyed'>): Promise<unknown> {
    noteTransaction(execution.switchToHttp().getRequest<object>(), manager);
    return lastValueFrom(next.handle() as Observable<unknown>, { defaultValue: undefined });
  }

  #replay({ fingerprint, status, answer }: StoredAnswer, { execution }: Call, keyed: KeyedRequest): unknown {
    if (fingerprint !== keyed.fingerprint) throw mismatch();
    const response = execution.switchToHttp().getResponse<object>();
    const { httpAdapter } = this.host;
    httpAdapter.status(response, status);
    httpAdapter.setHeader(response, REPLAYED, 'true');
    return answer;
  }

  async #keyed(key: string, { execution, settings }: Omit<Call, 'keyed'>): Promise<KeyedRequest> {
    const request = execution.switchToHttp().getRequest<HttpRequest>();
    const tenant = await this.shards.knownKey();
    const owner = settings.scope?.(execution) ?? '';
    return {
      key,
      scope: scopeOf({ tenant, owner, method: request.method, path: pathOf(request) }),
      routingKey: settings.store === 'control' ? null : tenantText(tenant), // what is on control moves with nobody
      fingerprint: fingerprintOf(request.query, request.body),
      retentionHours: settings.retentionHours,
    };
  }

  async #placeOf(request: object, { store }: IdempotentSettings): Promise<Place> {
    const { control } = this;
    if (store === 'control') {
      if (!control) throw new Error('the boot has seen a control database');
      return { name: 'control', manager: control.manager, tx: (work) => control.transaction(work) };
    }
    const db = await this.shards.current(request);
    return { name: db.shard.name, manager: db.manager, tx: (work) => db.tx(({ manager }) => work(manager)) };
  }

  #onOwnRunner(place: Place, batch: (runner: QueryRunner) => Promise<number>): Promise<number> {
    return place.tx(async ({ queryRunner }) => (queryRunner ? batch(queryRunner) : 0));
  }
}

interface HttpRequest {
  readonly method: string;
  readonly query: unknown;
  readonly body: unknown;
}

/** Rolls the work back and lets its answer go. */
class NotKept extends Error {
  constructor(readonly value: unknown) {
    super('the answer is a failure');
  }
}

function inProgress(): ShardingError {
  return new ShardingError(
    'idempotency_in_progress',
    'a request with this Idempotency-Key is under way: repeat it for its answer',
  );
}

function mismatch(): ShardingError {
  return new ShardingError(
    'idempotency_mismatch',
    'this Idempotency-Key was used with another query or body: a new request needs a new key',
  );
}
