import { createHmac } from 'node:crypto';
import { ShardingError } from '@app/routing';
import { eventKey } from './event-key.js';
import type { EventEnvelope } from './event-envelope.js';
import type { EventPublisher } from './event-publisher.js';

export interface WebhookOptions {
  /** Unique and permanent, as of every publisher. */
  readonly name: string;
  /** `https:`, or any on the loopback. */
  readonly url: string;
  /** Of at least 24 bytes; with `whsec_` before it, in Base64. Never printed. */
  readonly secret: string;
  /** Default: all. */
  readonly types?: readonly string[];
  /** Requests at a time, on each shard. Default 16. */
  readonly concurrency?: number;
  /** Bound of a request. Default 10000. */
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const LEAST_SECRET_BYTES = 24;
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Posts each event as JSON to a URL, signed as https://www.standardwebhooks.com describes: `webhook-id` (the event's id, the
 * same at each attempt), `webhook-timestamp` (seconds) and `webhook-signature`, `v1,` with the Base64 of the HMAC-SHA256 over
 * `<id>.<timestamp>.<body>`. An answer other than 2xx, redirects included, is a failure, and the event is tried again.
 */
export class WebhookPublisher implements EventPublisher {
  readonly name: string;
  readonly types: readonly string[] | undefined;
  readonly concurrency: number | undefined;
  readonly #url: URL;
  readonly #key: Buffer;
  readonly #timeoutMs: number;

  /** @throws ShardingError `invalid_options` for a URL without TLS, or a secret that is too short */
  constructor({ name, url, secret, types, concurrency, timeoutMs = DEFAULT_TIMEOUT_MS }: WebhookOptions) {
    this.name = name;
    this.types = types;
    this.concurrency = concurrency;
    this.#url = checkedUrl(name, url);
    this.#key = checkedKey(name, secret);
    this.#timeoutMs = timeoutMs;
  }

  async publish(event: EventEnvelope): Promise<void> {
    const body = bodyOf(event);
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = createHmac('sha256', this.#key).update(`${event.eventId}.${timestamp}.${body}`);
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': event.eventId,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': `v1,${signature.digest('base64')}`,
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([event.signal, AbortSignal.timeout(this.#timeoutMs)]),
    }).catch((error: unknown) => {
      throw failure(codeOf(error), error);
    });
    await response.body?.cancel();
    if (!response.ok) throw failure(`status_${response.status}`);
  }
}

function bodyOf(event: EventEnvelope): string {
  const { type, occurredAt, eventId, actionId, routingKey, aggregateId, payload, headers } = event;
  return JSON.stringify({
    type,
    timestamp: occurredAt.toISOString(),
    data: payload,
    event_id: eventId,
    action_id: actionId,
    routing_key: eventKey(routingKey).routingKey ?? null,
    aggregate_id: aggregateId,
    headers,
  });
}

function checkedUrl(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:') return url;
  if (url?.protocol === 'http:' && LOOPBACK.test(url.hostname)) return url;
  throw invalid(name, 'the URL must begin with https:// (http:// on the loopback only)');
}

function checkedKey(name: string, secret: string): Buffer {
  const encoded = /^whsec_(.*)$/.exec(secret)?.[1];
  const key = encoded === undefined ? Buffer.from(secret) : Buffer.from(encoded, 'base64');
  if (key.length >= LEAST_SECRET_BYTES) return key;
  throw invalid(name, `the secret must have at least ${LEAST_SECRET_BYTES} bytes`);
}

function invalid(name: string, what: string): ShardingError {
  return new ShardingError('invalid_options', `webhook "${name}": ${what}`);
}

/** Neither the URL nor the answer: they may hold what nobody is to read in a log. */
function failure(code: string, cause?: unknown): Error {
  return Object.assign(new Error(`the webhook was not taken: ${code}`, { cause }), { name: 'Webhook', code });
}

function codeOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: unknown } };
  if (typeof cause?.code === 'string') return cause.code;
  return name === 'TimeoutError' ? 'timeout' : 'unreachable';
}
