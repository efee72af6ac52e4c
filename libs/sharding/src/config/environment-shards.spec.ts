import { describe, expect, it } from '@jest/globals';
import { environmentOverlay } from './environment.js';
import { resolveOptions } from './resolve-options.js';
import type { ShardingOptions } from '../sharding.options.js';
import type { Environment } from './environment.js';

describe('shards in the environment', () => {
  const declared = {
    shards: [
      { name: 'a', primaryUrl: 'postgres://a/a' },
      { name: 'b', primaryUrl: 'postgres://b/b' },
    ],
  };
  const overlay = (environment: Environment) => environmentOverlay({ database: declared }, environment);
  const shardsOf = (environment: Environment) => {
    const { options, problems } = overlay(environment);
    return [(options as ShardingOptions).database?.shards, problems];
  };

  it('are positional: any single key of a declared shard', () => {
    expect(shardsOf({ SHARDING_DATABASE__SHARDS__1__PRIMARY_URL: 'postgres://new/b' })).toEqual([
      [declared.shards[0], { name: 'b', primaryUrl: 'postgres://new/b' }],
      [],
    ]);
    expect(declared.shards[1]).toEqual({ name: 'b', primaryUrl: 'postgres://b/b' });
  });

  it('are appended with NAME and PRIMARY_URL, one after the other, past ten as well', () => {
    const indexes = Array.from({ length: 11 }, (_, n) => n + 2);
    const environment = Object.fromEntries(
      indexes.flatMap((n) => [
        [`SHARDING_DATABASE__SHARDS__${n}__NAME`, `s${n}`],
        [`SHARDING_DATABASE__SHARDS__${n}__PRIMARY_URL`, `postgres://s${n}/a`],
      ]),
    );
    expect(shardsOf(environment)).toEqual([
      [...declared.shards, ...indexes.map((n) => ({ name: `s${n}`, primaryUrl: `postgres://s${n}/a` }))],
      [],
    ]);
  });

  it.each<[string, Environment]>([
    ['without a URL', { SHARDING_DATABASE__SHARDS__2__NAME: 'c', SHARDING_DATABASE__SHARDS__2__SLOTS: '' }],
    ['without a name', { SHARDING_DATABASE__SHARDS__2__PRIMARY_URL: 'postgres://c/c' }],
  ])('are not appended %s', (_what, environment) => {
    expect(shardsOf(environment)).toEqual([
      declared.shards,
      ['SHARDING_DATABASE__SHARDS__2__*: there is no shard 2; to add a shard set NAME and PRIMARY_URL for 2'],
    ]);
  });

  it('may not leave a gap', () => {
    const environment = {
      SHARDING_DATABASE__SHARDS__3__NAME: 'd',
      SHARDING_DATABASE__SHARDS__3__PRIMARY_URL: 'postgres://d/d',
    };
    expect(shardsOf(environment)).toEqual([
      declared.shards,
      ['SHARDING_DATABASE__SHARDS__3__*: there is no shard 3; to add a shard set NAME and PRIMARY_URL for 2'],
    ]);
  });

  it('are drained by an empty SLOTS', () => {
    const environment = {
      SHARDING_DATABASE__SHARDS__0__SLOTS: '0-16383',
      SHARDING_DATABASE__SHARDS__1__SLOTS: '',
    };
    const { topology } = resolveOptions(overlay(environment).options as ShardingOptions, 'toml');
    expect(topology.shards.map(({ name, slotCount }) => [name, slotCount])).toEqual([
      ['a', 16384],
      ['b', 0],
    ]);
  });

  it('have unknown keys refused', () => {
    expect(shardsOf({ SHARDING_DATABASE__SHARDS__0__URL: 'postgres://x/x' })[1]).toEqual([
      'SHARDING_DATABASE__SHARDS__0__URL: unknown key',
    ]);
    expect(shardsOf({ SHARDING_DATABASE__SHARDS__0__SLOT: '1' })[1]).toEqual([
      'SHARDING_DATABASE__SHARDS__0__SLOT: unknown key; did you mean "SLOTS"?',
    ]);
  });
});
