import type { RoutingKey } from '@app/routing';

/** A routing key as the outbox keeps it. */
export interface EventKey {
  readonly routingKey?: string | undefined;
  /** An integer and its text are two keys. Default: a text. */
  readonly keyKind?: 'integer' | undefined;
}

/** How a routing key is kept; nothing for none. */
export function eventKey(key: RoutingKey | undefined): EventKey {
  if (key === undefined) return {};
  if (typeof key === 'object') return { routingKey: Buffer.from(key).toString() };
  return { routingKey: String(key), ...(typeof key !== 'string' && { keyKind: 'integer' }) };
}

/** The key that was kept, which leads to the same shard. */
export function keptKey({ routingKey, keyKind }: EventKey): string | number | bigint | undefined {
  if (routingKey === undefined || keyKind !== 'integer') return routingKey;
  const number = Number(routingKey);
  return Number.isSafeInteger(number) ? number : BigInt(routingKey);
}
