import { Inject, Injectable, Module } from '@nestjs/common';
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { ShardingError } from '@app/routing';
import { failureCode } from '../shards/database-failure.js';
import { Fleet } from '../shards/fleet.js';
import { operationOf, queryText } from '../shards/query-text.js';
import type { DynamicModule, OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { Tracer } from '@opentelemetry/api';
import type { DatabaseObserver, Place, StatementEvent } from '../shards/telemetry.js';

/**
 * A span for each statement and each transaction, in the caller's active span. It is made when the work is done, with
 * the times of the work. While no SDK is registered nothing is made or measured.
 */
@Injectable()
export class Traces implements DatabaseObserver, OnModuleInit, OnApplicationShutdown {
  #endObservation: () => void = () => undefined;

  constructor(@Inject(Fleet) private readonly fleet: Fleet) {}

  onModuleInit(): void {
    this.#endObservation = this.fleet.telemetry.observe(this);
  }

  onApplicationShutdown(): void {
    this.#endObservation();
  }

  listening(): boolean {
    return tracer() !== undefined;
  }

  statement(place: Place, { sql, ...event }: StatementEvent): void {
    addSpan(place, event, { operation: operationOf(sql), text: () => queryText(sql) });
  }

  transaction(place: Place, event: Timed): void {
    addSpan(place, event, { operation: 'TRANSACTION' });
  }
}

/** Imported by `ShardingModule` where `@opentelemetry/api` is installed. */
@Module({})
export class ShardingTracesModule {
  static register(): DynamicModule {
    return { module: ShardingTracesModule, providers: [Traces] };
  }
}

type Timed = Omit<StatementEvent, 'sql'>;

interface Work {
  readonly operation: string | undefined;
  /** Made only for a span that is kept. */
  readonly text?: () => string;
}

/** Neither parameters nor a message of the driver: both may hold what is in rows. */
function addSpan(place: Place, { startedAt, ms, error }: Timed, { operation, text }: Work): void {
  const began = Date.now() - (performance.now() - startedAt);
  const span = tracer()?.startSpan(`${operation ?? 'SQL'} ${place.shard}`, {
    kind: SpanKind.CLIENT,
    startTime: began,
    attributes: {
      'db.system.name': 'postgresql',
      'db.shard': place.shard,
      'db.shard.role': place.role,
      ...(operation !== undefined && { 'db.operation.name': operation }),
    },
  });
  if (text && span?.isRecording()) span.setAttribute('db.query.text', text());
  if (error !== undefined) {
    const code = failureCode(error);
    const type = code ?? (error instanceof Error ? error.name : typeof error);
    span?.setAttribute('error.type', type);
    if (code !== undefined && !(error instanceof ShardingError))
      span?.setAttribute('db.response.status_code', code);
    span?.setStatus({ code: SpanStatusCode.ERROR, message: type });
  }
  span?.end(began + ms);
}

/** What is used of OpenTelemetry's own provider, which passes on to that of an SDK. */
interface Provider {
  /** Undefined while no SDK is registered. */
  getDelegateTracer?(name: string): Tracer | undefined;
}

function tracer(): Tracer | undefined {
  const provider = trace.getTracerProvider() as Provider;
  return provider.getDelegateTracer?.('nestjs-sharding');
}
