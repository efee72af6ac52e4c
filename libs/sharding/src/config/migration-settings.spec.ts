import { describe, expect, it } from '@jest/globals';
import { configurationError } from './configuration-error.js';
import { resolveOptions } from './resolve-options.js';
import type { MigrationsOptions } from '../migrations.options.js';

class Made1700000000001 {
  async up(): Promise<void> {}
  async down(): Promise<void> {}
}

const database = { shards: [{ name: 'a', primaryUrl: 'postgres://a/a' }] };
const resolve = (migrations: unknown) =>
  resolveOptions({ database, migrations: migrations as MigrationsOptions }, 'toml');

describe('the migrations of a configuration', () => {
  it('are classes and globs', () => {
    const { migrations } = resolve({ shards: [Made1700000000001, 'dist/*.js'], identityStride: 16 });
    expect(migrations).toMatchObject({
      control: [],
      shards: [Made1700000000001, 'dist/*.js'],
      identityStride: 16,
    });
  });

  it.each<[object, string]>([
    [{ shards: 'dist/*.js' }, 'shards: must be an array'],
    [{ shards: [''] }, 'shards: must be a list of migration classes or globs of files'],
    [{ shards: [7] }, 'shards: must be a list of migration classes or globs of files'],
    [{ control: ['dist/*.js'] }, 'control: needs a control database; set database.primary_url'],
    [{ autoMigrate: true }, 'auto_migrate: must be one of the following values: never, development, always'],
    [
      { pendingMigrations: 'ignore' },
      'pending_migrations: must be one of the following values: refuse, warn',
    ],
    [{ lockTimeoutMs: 0 }, 'lock_timeout_ms: must not be less than 1'],
    [{ identityStride: 1 }, 'identity_stride: must not be less than 2'],
    [{ interleaveIdentities: 'no' }, 'interleave_identities: must be a boolean value'],
    [{ shard: [] }, 'shard: unknown key; did you mean "shards"?'],
  ])('%j -> %s', (migrations, problem) => {
    expect(() => resolve(migrations)).toThrow(configurationError([`migrations.${problem}`]));
  });
});
