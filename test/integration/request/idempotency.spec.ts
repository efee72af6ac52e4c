import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Idempotent, ShardingModule, migrate, resolveOptions } from '@app/sharding';
import { expectNoConnections, waitFor } from '@test/support';
import { bootApp, deployment, listen } from '../../support/deployment.js';
import { between, OnceController } from './idempotent-app.js';
import type { INestApplication } from '@nestjs/common';
import type { Deployment } from '../../support/deployment.js';

/** On shard0 and shard1. */
const ACME = 'acme';
const GLOBEX = 'globex';

let databases: Deployment;
const shardOf: Record<string, number> = {};

beforeAll(async () => {
  databases = await deployment(2);
  await migrate(resolveOptions(databases.options()), () => undefined);
  await databases.query('control', 'create table plain_notes (body text not null)');
});

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly replayed: string | null;
  readonly retryAfter: string | null;
}

describe.each(['express', 'fastify'] as const)('an Idempotency-Key (%s)', (platform) => {
  let app: INestApplication;
  let url: string;

  beforeAll(async () => {
    const module = moduleOf(databases);
    app =
      platform === 'express'
        ? await NestFactory.create(module, { logger: false })
        : await NestFactory.create(module, new FastifyAdapter(), { logger: false });
    url = await listen(app);
    for (const tenant of [ACME, GLOBEX]) shardOf[tenant] = tenant === ACME ? 0 : 1;
  });

  afterEach(async () => {
    between.step = () => undefined;
    for (const shard of [0, 1]) {
      await databases.query(shard, 'truncate notes, _sharding_idempotency');
    }
    await databases.query('control', 'truncate plain_notes, _sharding_idempotency');
  });

  afterAll(async () => {
    await app.close();
    for (const shard of databases.shards) await expectNoConnections(shard);
  });

  async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await fetch(`${url}/${path}`, {
      method: 'POST',
      headers: { 'x-tenant-id': ACME, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    const json = answer.headers.get('content-type')?.includes('json') ?? false;
    return {
      status: answer.status,
      body: json ? (JSON.parse(text) as unknown) : text,
      replayed: answer.headers.get('idempotent-replayed'),
      retryAfter: answer.headers.get('retry-after'),
    };
  }

  const keyed = (path: string, body: object, key = 'k1', tenant = ACME) =>
    post(path, body, { 'idempotency-key': key, 'x-tenant-id': tenant });

  const notes = async (tenant = ACME) =>
    (await databases.query(shardOf[tenant]!, 'select body from notes order by id')).map(({ body }) => body);

  const kept = async (place: number | 'control' = 0) =>
    (await databases.query(
      place,
      'select routing_key, status, answer from _sharding_idempotency',
    )) as object[];

  it('makes a repeated request the answer of the first one, as the client got it', async () => {
    const first = await keyed('once', { body: 'a' });
    expect(first).toEqual({
      status: 201,
      body: { id: expect.any(String), zero: '\u0000' },
      replayed: null,
      retryAfter: null,
    });
    expect(await keyed('once', { body: 'a' })).toEqual({ ...first, replayed: 'true' });
    expect(await notes()).toEqual(['a', 'a again']);
    expect(await kept()).toEqual([{ routing_key: ACME, status: 201, answer: first.body }]);
  });

  it('of another body, or query, is refused', async () => {
    await keyed('once', { body: 'a' });
    for (const other of [keyed('once', { body: 'b' }), keyed('once?x=1', { body: 'a' })]) {
      expect(await other).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });
    }
    expect(await notes()).toEqual(['a', 'a again']);
  });

  it('is of one tenant, and of one path', async () => {
    const [acme, globex] = [
      await keyed('once', { body: 'a' }),
      await keyed('once', { body: 'b' }, 'k1', GLOBEX),
    ];
    expect([acme.status, globex.status, globex.replayed]).toEqual([201, 201, null]);
    expect(await keyed('once/hasty', { body: 'c' })).toMatchObject({ status: 202, replayed: null });
    expect(await notes()).toEqual(['a', 'a again', 'c']);
    expect(await notes(GLOBEX)).toEqual(['b', 'b again']);
  });

  it('is asked for, and has to be one short value', async () => {
    expect(await post('once', { body: 'a' })).toMatchObject({
      status: 400,
      body: { code: 'idempotency_key_invalid' },
    });
    expect(await keyed('once', { body: 'a' }, 'x'.repeat(256))).toMatchObject({ status: 400 });
    expect(await keyed('once', { body: 'a' }, 'a b')).toMatchObject({ status: 400 });
    expect(await notes()).toEqual([]);
  });

  it('that is optional and left out makes nothing be remembered', async () => {
    for (let time = 0; time < 2; time++) {
      expect(await post('once/text', {})).toMatchObject({ status: 201, body: 'last', replayed: null });
    }
    expect(await kept()).toEqual([]);
    await keyed('once/text', {});
    expect(await keyed('once/text', {})).toMatchObject({ status: 201, body: 'last', replayed: 'true' });
    expect(await notes()).toEqual(['text', 'text', 'text']);
  });

  it('of 20 requests at once makes one of them do the work', async () => {
    between.step = () => new Promise((resolve) => setImmediate(resolve));
    const answers = await Promise.all(Array.from({ length: 20 }, () => keyed('once', { body: 'a' })));
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1);
    expect(answers.filter(({ replayed }) => replayed === 'true')).toHaveLength(19);
    expect(await notes()).toEqual(['a', 'a again']);
  });

  it('of a request under way is 409 where nothing is waited for', async () => {
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    let first: Promise<Answer> | undefined;
    await new Promise<void>((begun) => {
      between.step = () => {
        begun();
        return gate;
      };
      first = keyed('once/hasty', { body: 'a' });
    });
    expect(await keyed('once/hasty', { body: 'a' })).toMatchObject({
      status: 409,
      body: { code: 'idempotency_in_progress' },
      retryAfter: '1',
    });
    open();
    expect(await first).toMatchObject({ status: 202, replayed: null });
    expect(await keyed('once/hasty', { body: 'a' })).toMatchObject({ status: 202, replayed: 'true' });
  });

  it('of a request that fails is free again, and its work is undone', async () => {
    between.step = () => {
      throw new Error('crash');
    };
    expect(await keyed('once', { body: 'a' })).toMatchObject({ status: 500 });
    expect(await keyed('once/conflict', {})).toMatchObject({ status: 409, body: { message: 'mine' } });
    expect(await keyed('once/status', { status: 502 })).toMatchObject({ status: 502, body: { status: 502 } });
    expect([await notes(), await kept()]).toEqual([[], []]);
    between.step = () => undefined;
    expect(await keyed('once', { body: 'b' })).toMatchObject({ status: 201, replayed: null });
  });

  it('keeps status and emptiness', async () => {
    await keyed('once/status', { status: 418 });
    await keyed('once/empty', {});
    expect(await keyed('once/status', { status: 418 })).toMatchObject({ status: 418, replayed: 'true' });
    expect(await keyed('once/empty', {})).toMatchObject({ status: 201, body: '', replayed: 'true' });
  });

  it.each(['long', 'file'])('keeps no %s answer, and then nothing is written', async (path) => {
    expect(await keyed(`once/${path}`, {})).toMatchObject({ status: 500, body: { code: 'invalid_options' } });
    expect([await notes(), await kept()]).toEqual([[], []]);
  });

  it('covers one shard', async () => {
    expect(await keyed('once/other-shard', { shard: 'shard1' })).toMatchObject({
      status: 400,
      body: { code: 'cross_shard_transaction' },
    });
    expect([await notes(), await notes(GLOBEX), await kept()]).toEqual([[], [], []]);
  });

  it('on control commits with what the handler writes there', async () => {
    expect(await keyed('once/control', { body: 'a' })).toMatchObject({ status: 201, replayed: null });
    expect(await keyed('once/control', { body: 'a' })).toMatchObject({
      status: 201,
      body: { body: 'a' },
      replayed: 'true',
    });
    expect(await keyed('once/control', { body: 'fails' }, 'k2')).toMatchObject({ status: 503 });
    expect(await databases.query('control', 'select body from plain_notes')).toEqual([{ body: 'a' }]);
    expect(await kept('control')).toEqual([{ routing_key: null, status: 201, answer: { body: 'a' } }]);
  });

  it('is new again when its time is over', async () => {
    await keyed('once', { body: 'a' });
    await databases.query(0, `update _sharding_idempotency set expires_at = now() - interval '1 second'`);
    expect(await keyed('once', { body: 'b' })).toMatchObject({ status: 201, replayed: null });
    expect(await notes()).toEqual(['a', 'a again', 'b', 'b again']);
    expect(await kept()).toHaveLength(1);
  });
});

it('answers that are over are deleted where new ones are stored', async () => {
  await databases.query(
    1,
    `insert into _sharding_idempotency (scope, key, fingerprint, status, expires_at)
      select 's', i::text, 'f', 200, now() - interval '1 minute' from generate_series(1, 2500) i`,
  );
  const app = await NestFactory.create(moduleOf(databases), { logger: false });
  try {
    const url = await listen(app);
    await fetch(`${url}/once/empty`, {
      method: 'POST',
      headers: { 'x-tenant-id': GLOBEX, 'idempotency-key': 'k' },
    });
    const left = async () => {
      const [row] = await databases.query(1, 'select count(*)::int as count from _sharding_idempotency');
      return row?.['count'] === 1;
    };
    await waitFor(left, { what: 'the old answers to be gone' });
  } finally {
    await app.close();
  }
});

describe('a boot', () => {
  it('fails where answers belong on a control database that is not there', async () => {
    const { database, ...rest } = databases.options();
    const shards = { ...database, primaryUrl: undefined };
    await expect(
      bootApp({ ...rest, database: shards } as never, { controllers: [OnceController] }),
    ).rejects.toMatchObject({
      code: 'invalid_topology',
      message: '@Idempotent({ store: "control" }) needs a control database: set [database] primary_url',
    });
  });

  it('never gets as far with a number out of range', () => {
    expect(() => Idempotent({ retentionHours: 0 })).toThrow(
      'retentionHours is a whole number from 1 to 8760',
    );
    expect(() => Idempotent({ waitMs: 0.5 })).toThrow('waitMs is a whole number from 0 to 60000');
  });
});

function moduleOf(on: Deployment) {
  @Module({ imports: [ShardingModule.forRoot(on.options())], controllers: [OnceController] })
  class OnceModule {}
  return OnceModule;
}
