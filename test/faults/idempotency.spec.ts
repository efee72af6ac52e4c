import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Body, Controller, Inject, Post } from '@nestjs/common';
import { FaultProxy, expectNoConnections } from '@test/support';
import { Idempotent, Shards, Tenant, migrate, resolveOptions } from '@app/sharding';
import { bootApp, deployment, listen, Note } from '../support/deployment.js';
import type { INestApplication } from '@nestjs/common';
import type { Deployment } from '../support/deployment.js';

@Controller('notes')
class OnceController {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  @Post()
  @Idempotent()
  async add(@Tenant() tenantId: string, @Body() { text }: { text: string }): Promise<object> {
    const db = await this.shards.current();
    await db.getRepository(Note).insert({ tenantId, body: text });
    return { text };
  }
}

let databases: Deployment;
let proxy: FaultProxy;
let app: INestApplication;
let url: string;
let planned = 0;

beforeAll(async () => {
  databases = await deployment(1);
  await migrate(resolveOptions(databases.options()), () => undefined);
  const [direct = ''] = databases.shards;
  proxy = await FaultProxy.start({ port: Number(new URL(direct).port) });
  const shards = [{ name: 'shard0', primaryUrl: proxy.url(direct) }];
  app = await bootApp(databases.options({ shards, drainTimeoutMs: 1000 }), { controllers: [OnceController] });
  url = await listen(app);
});

afterEach(() => expect(proxy.injections).toBe(planned));

afterAll(async () => {
  await app.close();
  await proxy.dispose();
  await expectNoConnections(databases.shards[0]!);
});

async function send(text: string, key: string): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(`${url}/notes`, {
    method: 'POST',
    headers: { 'x-tenant-id': 'acme', 'idempotency-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ text }),
    signal: AbortSignal.timeout(20_000),
  });
  return { status: answer.status, body: await answer.json() };
}

const times = async (text: string) =>
  (await databases.query(0, 'select 1 from notes where body = $1', [text])).length;

describe('a repeated request with an Idempotency-Key', () => {
  it.each(['before', 'after'] as const)('writes once where the commit was lost %s it', async (when) => {
    const key = `commit-${when}`;
    planned += 1;
    proxy.cutOn(/^COMMIT/i, when);
    expect(await send(key, key)).toMatchObject({ status: 500, body: { code: 'commit_unknown' } });
    expect(await times(key)).toBe(when === 'after' ? 1 : 0);
    expect(await send(key, key)).toMatchObject({ status: 201, body: { text: key } });
    expect(await times(key)).toBe(1);
  });

  it.each(
    ['before', 'after'].flatMap((when) =>
      [/^insert into _sharding_idempotency/i, /^insert into "notes"/i, /^update _sharding_idempotency/i].map(
        (statement) => ({ when: when as 'before' | 'after', statement }),
      ),
    ),
  )('writes once where the connection was lost $when $statement', async ({ when, statement }) => {
    const key = `${when} ${statement.source}`.replaceAll(/\W/g, '-');
    planned += 1;
    proxy.cutOn(statement, when);
    expect(await send(key, key)).toMatchObject({ status: 503 });
    expect(await times(key)).toBe(0);
    expect(await send(key, key)).toMatchObject({ status: 201 });
    expect(await send(key, key)).toMatchObject({ status: 201 });
    expect(await times(key)).toBe(1);
  });
});
