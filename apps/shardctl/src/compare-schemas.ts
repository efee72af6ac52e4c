import { askPlace } from './ask-place.js';
import { failureOf, type Failure } from './failure.js';
import type { SchemaDifference, ShardPlace, ShardSchema } from '@app/sharding/operator';

/** What a comparison of the shards has found. */
export interface SchemaComparison {
  /** Names of the shards that were compared. */
  readonly compared: readonly string[];
  readonly failed: readonly UnreadShard[];
  readonly differences: readonly SchemaDifference[];
}

/** A shard whose catalogs could not be read. */
export interface UnreadShard {
  readonly shard: string;
  readonly error: Failure;
}

export interface CompareOptions {
  /** Bound of each shard, connecting included. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** Shards at a time. */
const WIDTH = 8;
const LOCK_NOT_AVAILABLE = '55P03';
const QUERY_CANCELED = '57014';

/** Reads the catalogs of all shards and compares those that could be read. */
export async function compareSchemas(
  places: readonly ShardPlace[],
  { limitMs, signal }: CompareOptions,
): Promise<SchemaComparison> {
  const { fanOut, readSchema, schemaDifferences } = await import('@app/sharding/operator');
  const outcomes = await fanOut(places, WIDTH, (place) =>
    askPlace(place, { limitMs, signal }, (client) => readSchema(client, limitMs)),
  );
  signal.throwIfAborted();
  const schemas: ShardSchema[] = [];
  const failed: UnreadShard[] = [];
  for (const outcome of outcomes) {
    const { shard } = outcome.shard;
    if (outcome.ok) schemas.push({ shard, objects: outcome.value });
    else failed.push({ shard, error: readFailure(outcome.error, limitMs) });
  }
  return {
    compared: schemas.map(({ shard }) => shard),
    failed,
    differences: schemaDifferences(schemas),
  };
}

function readFailure(error: unknown, limitMs: number): Failure {
  const { code, message } = failureOf(error);
  switch (code) {
    case LOCK_NOT_AVAILABLE:
      return { code, message: 'something there is locked, perhaps by a migration: try again later' };
    case QUERY_CANCELED:
    case 'timeout':
      return { code, message: `its catalogs were not read within ${limitMs / 1000} s; see --timeout` };
    default:
      return { code, message };
  }
}
