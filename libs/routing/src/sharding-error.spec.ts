/** @jest-environment node */
import { inspect } from 'node:util';
import { describe, expect, it, jest } from '@jest/globals';
import { SHARDING_ERRORS, ShardingError, type ShardingErrorCode } from './index.js';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function holds<_T extends true>(): void {}

class PartialResult extends ShardingError {
  override readonly name = 'PartialResult';
  readonly rows = ['row content'];
}

describe('ShardingError', () => {
  it.each(Object.entries(SHARDING_ERRORS))('%s has a status and says whether to retry', (code, traits) => {
    const error = new ShardingError(code as ShardingErrorCode, 'what happened');
    expect({ status: error.status, retryable: error.retryable }).toEqual(traits);
    expect(error.status).toBeGreaterThanOrEqual(400);
    expect(error.status).toBeLessThan(600);
  });

  it('pins the table', () => {
    const rows = Object.entries(SHARDING_ERRORS).map(
      ([code, { status, retryable }]) => `${code} ${status} ${retryable}`,
    );
    expect(rows).toEqual([
      'invalid_routing_key 400 false',
      'no_routing_key 400 false',
      'invalid_tenant 400 false',
      'invalid_token 401 false',
      'cross_tenant 403 false',
      'unknown_shard 400 false',
      'invalid_id 400 false',
      'unregistered_shard 404 false',
      'no_placement 400 false',
      'placement_changed 409 false',
      'residency_violation 403 false',
      'cross_shard_transaction 400 false',
      'cross_shard_denied 403 false',
      'cross_shard_write 400 false',
      'cross_shard_unsupported 400 false',
      'invalid_cursor 400 false',
      'scatter_denied 403 false',
      'transaction_closed 500 false',
      'transaction_aborted 500 false',
      'routing_key_fixed 500 false',
      'invalid_options 500 false',
      'identity_unavailable 503 true',
      'shard_unavailable 503 true',
      'replica_unavailable 503 true',
      'directory_unavailable 503 true',
      'invalid_pin 503 true',
      'deadline_exceeded 504 false',
      'aborted 503 false',
      'commit_unknown 500 false',
      'sharded_entity_on_control 500 false',
      'migration_failed 500 false',
      'migrations_pending 500 false',
      'slot_map_changed 500 false',
      'shard_moved 409 true',
      'move_refused 409 false',
      'move_mismatch 500 false',
      'unknown_move 404 false',
      'stale_row 409 true',
      'partial_commit 500 false',
      'idempotency_key_invalid 400 false',
      'idempotency_in_progress 409 true',
      'idempotency_mismatch 422 false',
      'unknown_action 404 false',
      'action_refused 409 false',
      'invalid_topology 500 false',
      'invalid_slot 400 false',
      'out_of_topology 500 false',
    ]);
  });

  it('has a closed set of codes', () => {
    holds<Equal<ShardingErrorCode, keyof typeof SHARDING_ERRORS>>();
    holds<string extends ShardingErrorCode ? false : true>();
    // @ts-expect-error: a code outside the table does not compile
    const code: ShardingErrorCode = 'no_such_code';
    expect(code in SHARDING_ERRORS).toBe(false);
  });

  it('is an ordinary error with a name, a stack and a cause', () => {
    const cause = new Error('driver');
    const error = new ShardingError('shard_unavailable', 'shard "a" cannot be reached', { cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: 'ShardingError', code: 'shard_unavailable', cause });
    expect(String(error)).toBe('ShardingError: shard "a" cannot be reached');
    expect(error.stack).toContain('ShardingError: shard "a" cannot be reached\n    at ');
    expect('cause' in new ShardingError('aborted', 'stopped')).toBe(false);
  });

  it('shows clients the code and the message only', () => {
    const error = new ShardingError('unknown_shard', 'unknown shard "x"', { cause: new Error('secret') });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code: 'unknown_shard',
      message: 'unknown shard "x"',
    });
  });
});

describe('instanceof ShardingError', () => {
  it('holds across two loaded copies of the library, not across their subclasses', async () => {
    jest.resetModules();
    const other = (await import('./index.js')).ShardingError;
    const [mine, theirs] = [new ShardingError('aborted', 'mine'), new other('aborted', 'theirs')];
    expect(other).not.toBe(ShardingError);
    expect([mine instanceof other, theirs instanceof ShardingError]).toEqual([true, true]);
    expect([theirs instanceof PartialResult, mine instanceof PartialResult]).toEqual([false, false]);
  });

  it('holds for subclasses, which are checked by their prototype', () => {
    const partial = new PartialResult('aborted', 'partial');
    expect([partial instanceof ShardingError, partial instanceof PartialResult]).toEqual([true, true]);
  });

  it.each([[new Error('x')], [{ code: 'aborted' }], [null], [undefined], ['aborted'], [7]])(
    'is false for %p',
    (value) => {
      expect(value instanceof ShardingError).toBe(false);
    },
  );
});

describe('inspecting a ShardingError', () => {
  const driver = Object.assign(new Error('invalid input syntax: "secret-1"'), {
    code: '22P02',
    detail: 'Key (email)=(secret-2) exists',
    parameters: ['secret-3'],
  });

  it('prints the stack and, of the cause, the name and the code', () => {
    const error = new ShardingError('shard_unavailable', 'shard "a" failed', { cause: driver });
    const lines = inspect(error).split('\n');
    expect(lines[0]).toBe('ShardingError [shard_unavailable]: shard "a" failed');
    expect(lines[1]).toMatch(/^ +at /);
    expect(lines.at(-1)).toBe('  cause: Error 22P02');
  });

  it('never prints content of the cause, however deep it is buried', () => {
    const inner = new ShardingError('shard_unavailable', 'inner', { cause: driver });
    const partial = new PartialResult('aborted', 'partial', { cause: inner });
    for (const value of [inner, partial, { outcome: [inner] }, new Error('outer', { cause: partial })]) {
      const text = inspect(value, { depth: 20, showHidden: true });
      expect(text).toContain('cause: ');
      expect(text).not.toMatch(/secret|row content/);
    }
    expect(inspect(partial)).toMatch(/^PartialResult \[aborted\]: partial\n {4}at /);
  });

  it.each<[unknown, string]>([
    ['secret', 'string'],
    [null, 'object'],
    [{ message: 'secret' }, 'object'],
    [{ name: 'secret row (1, 2)', code: 'E1' }, 'E1'],
    [new ShardingError('commit_unknown', 'secret'), 'ShardingError commit_unknown'],
    [new AggregateError([new Error('secret')], 'secret'), 'AggregateError'],
  ])('names the cause %#', (cause, named) => {
    const text = inspect(new ShardingError('aborted', 'stopped', { cause }));
    expect(text.split('\n').at(-1)).toBe(`  cause: ${named}`);
  });

  it('says nothing about a cause that is not there, and manages without a stack', () => {
    const error = new ShardingError('aborted', 'stopped');
    expect(inspect(error)).not.toContain('cause');
    Object.defineProperty(error, 'stack', { value: undefined });
    expect(inspect(error)).toBe('ShardingError [aborted]: stopped');
  });
});
