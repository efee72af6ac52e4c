import { Logger } from '@nestjs/common';
import { ShardingError } from '@app/routing';
import { callSite } from './call-site.js';
import type { ScatterPolicy } from '../../sharding.options.js';
import type { MissingShard } from './fan-out-options.js';

/** One scatter that has ended. Nothing in it is of a row. */
export interface ScatterEvent {
  readonly method: string;
  readonly entity: string;
  /** `directory/file.ts:12` of the caller, or `unknown`. */
  readonly callSite: string;
  /** How many shards were read. */
  readonly shards: number;
  /** Rows or groups of the answer. */
  readonly rows: number;
  readonly ms: number;
  readonly missing: readonly MissingShard[];
  /** The code of a `ShardingError`, or the name of another error. */
  readonly failure?: string;
}

export interface ScatterWatchParts {
  readonly entity: string;
  readonly policy: ScatterPolicy;
  readonly shards: () => number;
  /** Told of each scatter, for a counter; it must not throw. */
  readonly observe?: ((event: ScatterEvent) => void) | undefined;
}

/** What a running scatter reports of its end. */
export interface ScatterEnd {
  readonly rows: number;
  /** How many were to be read; all unless it is said. */
  readonly shards?: number | undefined;
  readonly missing?: readonly MissingShard[];
  readonly error?: unknown;
}

const logger = new Logger('scatter');

/** Lets scatters through, counts them and logs one line for each. */
export class ScatterWatch {
  constructor(private readonly parts: ScatterWatchParts) {}

  /** Gives the function that tells the end; by default whoever calls is the call site. @throws ShardingError `scatter_denied` */
  begin(method: string, site = callSite()): (end: ScatterEnd) => void {
    const { entity, policy, shards, observe } = this.parts;
    if (policy === 'deny') {
      throw new ShardingError(
        'scatter_denied',
        `${entity}.${method}() reads all shards, which scatter = "deny" forbids: read by tenant, or set "warn" or "allow"`,
      );
    }
    const startedAt = performance.now();
    return ({ rows, missing = [], error, shards: read = shards() }) => {
      const ms = performance.now() - startedAt;
      const failure = error === undefined ? {} : { failure: failureOf(error) };
      const event = { method, entity, callSite: site, shards: read, rows, ms, missing, ...failure };
      logger[policy === 'warn' ? 'warn' : 'debug'](lineOf(event));
      observe?.(event);
    };
  }
}

function failureOf(error: unknown): string {
  if (error instanceof ShardingError) return error.code;
  return error instanceof Error ? error.name : 'error';
}

function lineOf(event: ScatterEvent): string {
  const { method, entity, callSite: site, shards, rows, ms, missing, failure } = event;
  const without = missing.length > 0 ? `, without ${missing.map(({ shard }) => shard).join(', ')}` : '';
  const end = failure === undefined ? `${rows} rows${without}` : `failed (${failure})`;
  return `${entity}.${method}() at ${site}: ${shards} shards, ${end}, ${ms.toFixed(1)} ms`;
}
