import { describe, expect, it } from '@jest/globals';
import { resolveOptions } from './config/resolve-options.js';
import { logTopology } from './topology-log.js';
import type { Logger } from '@nestjs/common';
import type { DatabaseOptions } from './sharding.options.js';

/** What boot says, as `level: text`. */
function lines(database: DatabaseOptions, totalMaxConnections: number): string[] {
  const said: string[] = [];
  const logger = {
    log: (text: string) => said.push(`log: ${text}`),
    warn: (text: string) => said.push(`warn: ${text}`),
  };
  logTopology(resolveOptions({ database }), totalMaxConnections, logger as unknown as Logger);
  return said;
}

const shard = (name: string, slots?: (string | number)[]) => ({
  name,
  primaryUrl: `postgres://u:hunter2@db.internal/${name}`,
  ...(slots && { slots }),
});

describe('the topology at boot', () => {
  it('has the shards with their slots, and the sum of all pools', () => {
    const shards = [shard('a', ['0-8191', 9000]), shard('b', ['8192-8999', '9001-16383']), shard('c', [])];
    expect(lines({ primaryUrl: 'postgres://u:hunter2@db.internal/c0', shards }, 40)).toEqual([
      'log: database topology configured: shard_count=3 control=yes total_max_connections=40',
      'log: shard a: slots=8193 (0-8191, 9000)',
      'log: shard b: slots=8191 (8192-8999, 9001-16383)',
      'log: shard c: slots=0 (drained)',
    ]);
  });

  it('has the groups where there are several', () => {
    const shards = [shard('a'), { ...shard('b'), group: 3 }];
    expect(lines({ shards }, 1)).toEqual([
      'log: database topology configured: shard_count=2 control=no total_max_connections=1',
      'log: shard a: group=0 slots=16384 (0-16383)',
      'log: shard b: group=3 slots=16384 (0-16383)',
    ]);
  });

  it('lists the first 32 shards only', () => {
    const said = lines({ shards: Array.from({ length: 34 }, (_, n) => shard(`s${n}`)) }, 1);
    expect([said.length, said.at(-2), said.at(-1)]).toEqual([
      34,
      'log: shard s31: slots=482 (14939-15420)',
      'log: and 2 more shards',
    ]);
  });

  it('warns when the pools reach the threshold, 0 never', () => {
    const warnings = (maxConnectionsWarnThreshold: number, total: number) =>
      lines({ shards: [shard('a')], maxConnectionsWarnThreshold }, total).filter((line) =>
        line.startsWith('warn'),
      );
    expect(warnings(100, 99)).toEqual([]);
    expect(warnings(0, 1000)).toEqual([]);
    expect(warnings(100, 100)).toEqual([
      'warn: total_max_connections=100 reaches max_connections_warn_threshold=100: compare it with max_connections of the servers, times the number of processes',
    ]);
  });
});
