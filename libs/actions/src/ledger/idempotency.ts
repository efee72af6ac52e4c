import { createHash } from 'node:crypto';
import { ShardingError } from '@app/routing';
import { eventKey } from '../outbox/event-key.js';
import type { RoutingKey } from '@app/routing';
import type { Shard, Shards } from '@app/sharding';
import type { ExecuteOptions } from '../executor/execute-options.js';

/** Where the result of an execution is kept, and under which id. */
export interface LedgerPlace {
  readonly actionId: string;
  readonly home: Shard;
  readonly routingKey: string | undefined;
  readonly paramsHash: string;
}

interface Keyed {
  readonly action: string;
  readonly params: unknown;
  readonly options: ExecuteOptions;
  /** The routing key of the running work. */
  readonly key: RoutingKey | undefined;
}

const LONGEST_KEY = 255;

/**
 * The ledger's place of an execution; undefined without an idempotency key.
 *
 * @throws ShardingError `invalid_options` for a key that is empty or too long, or without a home
 */
export async function ledgerPlace(keyed: Keyed, shards: Shards): Promise<LedgerPlace | undefined> {
  const { idempotencyKey } = keyed.options;
  if (idempotencyKey === undefined) return undefined;
  if (idempotencyKey === '' || idempotencyKey.length > LONGEST_KEY) {
    throw new ShardingError('invalid_options', `an idempotency key has 1 to ${LONGEST_KEY} characters`);
  }
  const { home, named, routingKey } = await homeOf(keyed, shards);
  const actionId = uuidOf(JSON.stringify([keyed.action, named, idempotencyKey]));
  return { actionId, home, routingKey, paramsHash: hashOf(keyed.params) };
}

interface Home {
  readonly home: Shard;
  readonly named: string;
  readonly routingKey?: string | undefined;
}

async function homeOf({ options, key: running }: Keyed, shards: Shards): Promise<Home> {
  const { home: place } = options;
  const key = place && 'slot' in place ? place.key : place ? undefined : running;
  if (key !== undefined) {
    return { home: await shards.shardFor(key), named: `key ${String(key)}`, ...eventKey(key) };
  }
  if (!place) {
    throw new ShardingError(
      'invalid_options',
      'an idempotency key needs a home, where the result is kept: run the action with { key } or { home }, or inside of Shards.runFor',
    );
  }
  const [home] = await shards.shardsOfPlace(place);
  if (!home) throw new ShardingError('no_placement', 'the home of the idempotency key names no shard');
  const named =
    'slot' in place ? `slot ${place.group}/${place.slot}` : `shard ${place.group}/${place.member}`;
  return { home, named, routingKey: undefined };
}

/** Permanent: ids of the ledger are derived within it. */
const NAMESPACE = Buffer.from('6b2f0f3a5d8e4b6f9a3c2c7a1e90d417', 'hex');

/** A UUID of version 5. */
function uuidOf(name: string): string {
  const bytes = createHash('sha1').update(NAMESPACE).update(name).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, '$1-$2-$3-$4-$5');
}

/** The same for parameters that say the same, whatever the order of their members. */
function hashOf(params: unknown): string {
  const text = JSON.stringify(params, (_name, value: unknown) => {
    if (typeof value === 'bigint') return `${value}n`;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }) as string | undefined;
  return createHash('sha256')
    .update(text ?? 'undefined')
    .digest('hex');
}
