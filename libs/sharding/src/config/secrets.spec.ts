import { describe, expect, it } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import { inspect } from 'node:util';
import { configurationError } from './configuration-error.js';
import { resolveOptions } from './resolve-options.js';
import type { ShardingOptions } from '../sharding.options.js';
import type { TenancyOptions } from '../tenancy.options.js';

/** Every way by which settings end up in a log. */
const printed = (value: object): string[] => [
  inspect(value, { depth: null, showHidden: true, maxArrayLength: null }),
  inspect(value, { depth: null, showHidden: true, showProxy: true, customInspect: false }),
  JSON.stringify(value),
  String(value),
  `${Object.entries(value).flat().join()}`,
];

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const clientKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

const settings = (tenancy: TenancyOptions) =>
  resolveOptions({
    database: {
      primaryUrl: 'postgres://user0:hunter2@control.internal/app',
      maintenanceUrl: 'postgres://user0:hunter3@direct.internal/app',
      shards: [
        {
          name: 'a',
          primaryUrl: 'postgres://user1:hunter4@shard.internal/app',
          replicaUrl: 'postgres://user1:hunter5@replica.internal/app',
        },
      ],
    },
    tenancy,
    typeorm: { ssl: { key: clientKey, passphrase: 'hunter6' } },
  });

const confidential = /hunter|user\d|\.internal|PRIVATE KEY|s3cret|127\.0\.0\.1/;

describe('settings', () => {
  it.each<[string, TenancyOptions]>([
    ['a secret', { source: 'jwt', jwtSecret: 's3cret'.repeat(6) }],
    ['a key set', { source: 'jwt', jwksUrl: 'https://id.internal/keys?token=s3cret' }],
    ['a header', {}],
  ])('show no password, secret, user or host, with %s', (_what, tenancy) => {
    for (const text of printed(settings(tenancy))) expect(text).not.toMatch(confidential);
  });

  it('show a database by its target', () => {
    const [shard] = settings({}).shards;
    expect(inspect(shard!.primary)).toMatch(/target: 'shard:a',[^]*\burl: \[secret\]/);
    expect(JSON.stringify(shard)).toMatch(/"target":"shard:a",.*"url":"\[secret\]"/);
  });

  it('still have what they hide', () => {
    const { shards, typeorm } = settings({});
    expect(shards[0]!.primary.url.reveal()).toBe('postgres://user1:hunter4@shard.internal/app');
    expect(typeorm.options).toEqual({ ssl: { key: clientKey, passphrase: 'hunter6' } });
  });
});

describe('the error of a configuration', () => {
  const failure = (options: object): Error => {
    try {
      resolveOptions(options as ShardingOptions);
    } catch (error) {
      return error as Error;
    }
    throw new Error('there were no problems');
  };

  it('shows no value of a key that can hold a secret', () => {
    const error = failure({
      database: {
        primaryUrl: 'postgres//user0:hunter2@control.internal/app',
        url: 'postgres://user0:hunter2#@control.internal/app',
        shards: [
          { name: 'a', primaryUrl: 'mysql://user0:hunter2@shard.internal/a', replicaUrl: ['hunter2'] },
        ],
      },
      tenancy: {
        source: 'jwt',
        jwtSecret: 's3cret',
        jwtPublicKey: clientKey.slice(0, 90),
        jwksUrl: 's3cret',
      },
      typeorm: { password: 'hunter2', extra: { connectionString: 'postgres://user0:hunter2@x.internal/a' } },
    });
    expect(error.message.split('\n').length).toBeGreaterThan(8);
    expect(error.cause).toBeUndefined();
    for (const text of printed(error)) expect(text).not.toMatch(confidential);
  });

  it('hides a URL that stands where a name or a slot belongs', () => {
    const url = 'postgres://user0:hunter2@shard.internal/a';
    const error = failure({
      database: { shards: [{ name: url, primaryUrl: 'postgres://a/a', slots: [url] }], [url]: 1 },
    });
    expect(error).toEqual(
      configurationError([
        'database.[hidden] unknown key',
        'database.shards[0]: name must match [a-z0-9_-]+, not "[hidden]"',
        'database.shards[0]: invalid slot "[hidden]": write 5, "5" or "0-8191"',
        'database.shards: the slots 0..16383 must each have an owner; unassigned: 0-16383',
      ]),
    );
    for (const text of printed(error)) expect(text).not.toMatch(confidential);
  });

  it('hides a password in the form of libpq', () => {
    expect(configurationError(['"host=x password=hunter2 user=y"']).message).toMatch(
      /"host=x \[hidden\] user=y"$/,
    );
  });
});
