import { createHash } from 'node:crypto';
import { ShardingError } from '@app/routing';
import type { RoutingKey } from '@app/routing';

/** Bytes of a payload as JSON. */
export const MAX_PAYLOAD_BYTES = 262_144;

/** What the queue keeps of a job. Integers and bytes are told from text: they are other keys. */
export interface JobData {
  readonly key?: readonly [kind: 'text' | 'int' | 'bytes', value: string];
  readonly payload: unknown;
}

/** @throws ShardingError `invalid_options` for a payload that is no JSON, or too long */
export function jobData(payload: unknown, routingKey: RoutingKey | undefined): JobData {
  const json = jsonOf(payload);
  if (json === undefined || Buffer.byteLength(json) > MAX_PAYLOAD_BYTES) {
    throw new ShardingError(
      'invalid_options',
      `the payload of a job is JSON of up to ${MAX_PAYLOAD_BYTES} bytes: send what names the rows, not the rows`,
    );
  }
  return { payload: payload ?? null, ...(routingKey !== undefined && { key: storedKey(routingKey) }) };
}

export function routingKeyOf({ key }: JobData): RoutingKey | undefined {
  if (!key) return undefined;
  const [kind, value] = key;
  if (kind === 'text') return value;
  if (kind === 'bytes') return Buffer.from(value, 'base64');
  const integer = BigInt(value);
  return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;
}

/** The key that a job is single by: among those of its routing key. */
export function singletonKeyOf(singletonKey: string, { key }: JobData): string {
  return createHash('sha256')
    .update(JSON.stringify([key ?? null, singletonKey]))
    .digest('hex');
}

/** The same id for the same occurrence, whoever asks: the queue takes it once. A UUID of version 8. */
export function occurrenceId(name: string, dueAt: string): string {
  const hex = createHash('sha256').update(`${name}\n${dueAt}`).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}

function storedKey(key: RoutingKey): NonNullable<JobData['key']> {
  if (typeof key === 'string') return ['text', key];
  if (typeof key === 'object') return ['bytes', Buffer.from(key).toString('base64')];
  return ['int', key.toString()];
}

function jsonOf(payload: unknown): string | undefined {
  try {
    return JSON.stringify(payload ?? null) as string | undefined;
  } catch {
    return undefined;
  }
}
