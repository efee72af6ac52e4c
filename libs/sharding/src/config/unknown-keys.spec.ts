import { describe, expect, it } from '@jest/globals';
import { configurationError } from './configuration-error.js';
import { resolveOptions } from './resolve-options.js';
import type { ShardingOptions } from '../sharding.options.js';
import type { KeyStyle } from './key-style.js';

const primaryUrl = 'postgres://db/app';
const resolve = (options: object, style: KeyStyle = 'code') =>
  resolveOptions(options as ShardingOptions, style);

describe('unknown keys', () => {
  it('are refused with the nearest known one, in the words of code', () => {
    const options = {
      database: {
        primaryUrl,
        poolsize: 4,
        shards: [{ name: 'a', primaryUrl: 'postgres://a/a', primary_url: '' }],
      },
      tenancy: { header_name: 'x' },
      entitys: [],
    };
    expect(() => resolve(options)).toThrow(
      configurationError([
        'database.poolsize: unknown key; did you mean "poolSize"?',
        'database.shards[0].primary_url: unknown key; did you mean "primaryUrl"?',
        'tenancy.header_name: unknown key; did you mean "headerName"?',
        'entitys: unknown key; did you mean "entities"?',
      ]),
    );
  });

  it('are refused with the nearest known one, in the words of sharding.toml', () => {
    const options = {
      database: { primaryUrl, poolSzie: 4, shards: [{ name: 'a', primaryUrl: 'postgres://a/a', slot: [] }] },
      tenancy: { maxLenght: 9 },
      tenency: {},
    };
    expect(() => resolve(options, 'toml')).toThrow(
      configurationError([
        'database.pool_szie: unknown key; did you mean "pool_size"?',
        'database.shards[0].slot: unknown key; did you mean "slots"?',
        'tenancy.max_lenght: unknown key; did you mean "max_length"?',
        'tenency: unknown key; did you mean "tenancy"?',
      ]),
    );
  });

  it('are refused without a guess where no known key is near', () => {
    expect(() => resolve({ database: { primaryUrl, colour: 'red' } })).toThrow(
      configurationError(['database.colour: unknown key']),
    );
  });

  it.each(['constructor', 'toString', 'hasOwnProperty'])(
    'are refused when they are words of JavaScript: %s',
    (word) => {
      const options = { database: { primaryUrl, [word]: 1 }, [word]: {} };
      expect(() => resolve(options, 'toml')).toThrow(
        configurationError([`database.${asToml(word)}: unknown key`, `${asToml(word)}: unknown key`]),
      );
    },
  );

  it('are refused when the key is __proto__', () => {
    const options = JSON.parse(
      `{"database":{"primaryUrl":"${primaryUrl}","__proto__":{"poolSize":0}}}`,
    ) as object;
    expect(() => resolve(options)).toThrow(configurationError(['database.__proto__: unknown key']));
  });

  it('include what only code can give when a file gives it as text', () => {
    const options = { database: { primaryUrl }, tenancy: { normalize: 'lower', principalTenant: 'x' } };
    expect(() => resolve(options, 'toml')).toThrow(
      configurationError(['tenancy.normalize: unknown key', 'tenancy.principal_tenant: unknown key']),
    );
  });
});

function asToml(word: string): string {
  return word.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
