import { afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { SpanKind, SpanStatusCode, context, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { Shards, type ShardingSetup } from '@app/sharding';
import { waitFor } from '@test/support';
import { Note, deployment, type Deployment } from '../../support/deployment.js';
import { bootMetrics } from './metrics-app.js';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-node';
import type { INestApplication } from '@nestjs/common';

let exporter: InMemorySpanExporter;
let provider: NodeTracerProvider;
let databases: Deployment;
let app: INestApplication;

beforeAll(async () => {
  databases = await deployment(2);
});

afterEach(async () => {
  await app?.close();
  await provider?.shutdown();
  trace.disable();
  context.disable();
});

beforeEach(() => {
  exporter = new InMemorySpanExporter();
});

function registerSdk(): void {
  provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register();
}

/** With metrics off: traces alone make the work be watched. */
async function boot(setup: ShardingSetup = {}): Promise<Shards> {
  ({ app } = await bootMetrics({ ...databases.options(), metrics: false, ...setup }));
  const shards = app.get(Shards);
  await shards.each((db) => db.query('select 1')); // opening sends statements of its own
  exporter.reset();
  return shards;
}

/** Runs work in a span `caller` and gives it with the spans inside. */
async function traced(
  work: () => Promise<unknown>,
): Promise<{ caller: ReadableSpan; spans: ReadableSpan[] }> {
  exporter.reset();
  await trace.getTracer('test').startActiveSpan('caller', async (span) => {
    await work().catch(() => undefined);
    span.end();
  });
  const all = exporter.getFinishedSpans();
  const caller = all.find(({ name }) => name === 'caller')!;
  return { caller, spans: all.filter((span) => span !== caller) };
}

const time = ([seconds, nanoseconds]: readonly [number, number]) => seconds * 1000 + nanoseconds / 1e6;

it('a statement is a span in the span of its caller, with its time, its shard and its text', async () => {
  registerSdk();
  const shards = await boot();
  const db = await shards.dbOn('shard1');
  const { caller, spans } = await traced(() =>
    db.query('select pg_sleep($1), $2::text', [0.1, 'top-secret']),
  );
  expect(spans.map(({ name, kind, attributes, status }) => ({ name, kind, attributes, status }))).toEqual([
    {
      name: 'SELECT shard1',
      kind: SpanKind.CLIENT,
      status: { code: SpanStatusCode.UNSET },
      attributes: {
        'db.system.name': 'postgresql',
        'db.shard': 'shard1',
        'db.shard.role': 'primary',
        'db.operation.name': 'SELECT',
        'db.query.text': 'select pg_sleep($1), $2::text',
      },
    },
  ]);
  const [span] = spans as [ReadableSpan];
  expect(span.parentSpanContext?.spanId).toBe(caller.spanContext().spanId);
  expect(span.spanContext().traceId).toBe(caller.spanContext().traceId);
  expect(time(span.duration)).toBeGreaterThan(95);
  expect(time(span.duration)).toBeLessThanOrEqual(time(caller.duration) + 1);
  expect(time(span.startTime)).toBeGreaterThanOrEqual(time(caller.startTime) - 2);
  expect(time(span.endTime)).toBeLessThanOrEqual(time(caller.endTime) + 2);
});

it('concurrent callers keep their spans apart', async () => {
  registerSdk();
  const shards = await boot();
  const callers = await Promise.all(
    ['a', 'b', 'c'].map((name) =>
      trace.getTracer('test').startActiveSpan(name, async (span) => {
        await (await shards.dbFor(name)).query(`select pg_sleep(0.05) /* x */`);
        span.end();
        return span.spanContext().spanId;
      }),
    ),
  );
  const parents = exporter
    .getFinishedSpans()
    .filter(({ name }) => name.startsWith('SELECT'))
    .map(({ parentSpanContext }) => parentSpanContext?.spanId);
  expect(new Set(parents)).toEqual(new Set(callers));
});

it('a transaction is a span that covers its statements', async () => {
  registerSdk();
  const shards = await boot();
  const db = await shards.dbOn('shard0');
  const { caller, spans } = await traced(() =>
    db.tx((tx) => tx.getRepository(Note).insert({ tenantId: 'acme', body: 'top-secret' })),
  );
  expect(spans.map(({ name }) => name)).toEqual([
    'START shard0',
    'INSERT shard0',
    'COMMIT shard0',
    'TRANSACTION shard0',
  ]);
  const transaction = spans.at(-1)!;
  for (const span of spans) {
    expect(span.parentSpanContext?.spanId).toBe(caller.spanContext().spanId);
    expect(time(span.startTime)).toBeGreaterThanOrEqual(time(transaction.startTime) - 2);
    expect(time(span.endTime)).toBeLessThanOrEqual(time(transaction.endTime) + 2);
  }
});

it('a failure is told by its code, never by a message that may hold values', async () => {
  registerSdk();
  const shards = await boot();
  const db = await shards.dbOn('shard0');
  const { spans } = await traced(() => db.query(`select 'top-secret'::int, 'o''clock', 12345`));
  expect(spans).toMatchObject([
    {
      status: { code: SpanStatusCode.ERROR, message: '22P02' },
      attributes: {
        'error.type': '22P02',
        'db.response.status_code': '22P02',
        'db.query.text': 'select ?::int, ?, ?',
      },
      events: [],
    },
  ]);
  exporter.reset();
  await expect(db.query('select pg_sleep(2)', [], { deadlineMs: 50 })).rejects.toThrow('within 50 ms');
  await waitFor(async () => exporter.getFinishedSpans().length > 0, {
    what: 'the cancelled statement to end',
  });
  expect(exporter.getFinishedSpans()).toMatchObject([
    { status: { code: SpanStatusCode.ERROR }, attributes: { 'error.type': 'deadline_exceeded' } },
  ]);
});

it('the work of a `runFor` is below the active span of who called it', async () => {
  registerSdk();
  const shards = await boot();
  const { caller, spans } = await traced(() => shards.runFor('acme', (db) => db.query('select 1')));
  expect(spans).toHaveLength(1);
  expect(spans[0]?.parentSpanContext?.spanId).toBe(caller.spanContext().spanId);
});

it('work without an active span has spans of its own', async () => {
  registerSdk();
  const shards = await boot();
  await (await shards.dbOn('shard0')).query('select 1');
  expect(exporter.getFinishedSpans().map(({ parentSpanContext }) => parentSpanContext)).toEqual([undefined]);
});

it('nothing is made or measured while no SDK is registered; one that comes later is heard', async () => {
  const shards = await boot();
  const db = await shards.dbOn('shard0');
  const { telemetry } = db.shard.database;
  expect(telemetry.active).toBe(false);
  await db.query('select 1');
  registerSdk();
  expect(telemetry.active).toBe(true);
  await db.query('select 1');
  expect(exporter.getFinishedSpans()).toHaveLength(1);
  await app.close();
  expect(telemetry.active).toBe(false);
});

it('nothing is made with `traces: "off"`', async () => {
  registerSdk();
  const shards = await boot({ traces: 'off' });
  await (await shards.dbOn('shard0')).query('select 1');
  expect(exporter.getFinishedSpans()).toEqual([]);
});
