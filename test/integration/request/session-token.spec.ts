import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import fc from 'fast-check';
import { RoutingContext, SESSION_COOKIE, SESSION_HEADER, ShardingModule, Shards } from '@app/sharding';
import { waitFor } from '@test/support';
import { listen } from '../../support/deployment.js';
import { ReplicatedDeployment } from '../../support/replicated.js';
import { Notes, SessionController } from './session-app.js';
import { FAR, foreign, SECRET, signed } from './session-forgery.js';
import type { INestApplication } from '@nestjs/common';
import type { RunForOptions } from '@app/sharding';
import type { Found } from './session-app.js';

let servers: ReplicatedDeployment;
beforeAll(async () => void (servers = await ReplicatedDeployment.start()));
afterAll(() => servers?.dispose());

const pause = () => servers.replica.query('select pg_wal_replay_pause()');
const delayReplay = async (ms: number) => {
  await servers.replica.query(`alter system set recovery_min_apply_delay = '${ms}ms'`);
  await servers.replica.query('select pg_reload_conf()');
};
const resume = () => servers.replica.query('select pg_wal_replay_resume()');

describe.each(['Express', 'Fastify'])('read_your_writes = "session" on %s', (platform) => {
  let app: INestApplication;
  let url: string;
  let count = 0;
  let body = '';

  async function boot(readYourWrites: 'session' | 'request' = 'session'): Promise<void> {
    const options = servers.options({ readYourWrites, sessionSecret: SECRET, causalWaitMs: 50 });
    @Module({
      imports: [ShardingModule.forRoot(options)],
      controllers: [SessionController],
      providers: [Notes],
    })
    class TestModule {}
    const quiet = { logger: false, abortOnError: false } as const;
    app =
      platform === 'Fastify'
        ? await NestFactory.create(TestModule, new FastifyAdapter({ trustProxy: true }), quiet)
        : await NestFactory.create(TestModule, quiet);
    if (platform === 'Express')
      (app.getHttpAdapter().getInstance() as { set(...parts: unknown[]): void }).set('trust proxy', true);
    url = await listen(app);
    const shard = app.get(Shards).named('shard0');
    await waitFor(async () => shard.replicaStatus()?.ready, { what: 'the replica' });
  }

  beforeAll(() => boot());
  afterAll(() => app?.close());
  beforeEach(async () => {
    body = `${platform}-${++count}`;
    await pause();
  });
  afterEach(() => resume());

  const send = (path: string, init: RequestInit & { headers?: Record<string, string> } = {}) =>
    fetch(url + path, { ...init, headers: { 'x-tenant-id': 'acme', ...init.headers } });
  const post = (path: string, headers: Record<string, string> = {}) =>
    send(path, {
      method: 'POST',
      body: JSON.stringify({ body }),
      headers: { 'content-type': 'application/json', ...headers },
    });
  const find = async (headers: Record<string, string> = {}, what = body): Promise<Found> => {
    const response = await send(`/notes/${what}`, { headers });
    expect(response.status).toBe(200);
    return (await response.json()) as Found;
  };
  const token = (response: Response) => response.headers.get(SESSION_HEADER) ?? '';
  const cookie = (response: Response) =>
    response.headers
      .getSetCookie()
      .filter((line) => line.startsWith(`${SESSION_COOKIE}=`))
      .map((line) => line.split(';')[0]);

  it('a later request sees the write, by the header and by the cookie; without them it need not', async () => {
    const written = await post('/notes');
    expect(token(written)).toMatch(/^v1\.[\w-]{43}\.shard0:[\da-f]+$/);
    expect(written.headers.getSetCookie()).toEqual([
      `${SESSION_COOKIE}=${token(written)}; Path=/; HttpOnly; SameSite=Lax`,
    ]);
    expect(await find()).toEqual({ count: 0, replica: true });
    expect(await find({ [SESSION_HEADER]: token(written) })).toEqual({ count: 1, replica: false });
    const cookies = ['a=1', ...cookie(written), 'b=2'].join('; ');
    expect(await find({ cookie: cookies })).toEqual({ count: 1, replica: false });
    expect(await find({ [SESSION_HEADER]: 'nonsense', cookie: cookies })).toMatchObject({ count: 1 });
    await resume();
    await waitFor(async () => (await find({ [SESSION_HEADER]: token(written) })).replica, {
      what: 'the replica',
    });
    expect(await find({ cookie: cookies })).toEqual({ count: 1, replica: true });
  });

  it('a request that only reads passes on what is still needed, but leaves the cookie alone', async () => {
    const written = token(await post('/notes'));
    const read = await send(`/notes/${body}`, { headers: { [SESSION_HEADER]: written } });
    expect([token(read), read.headers.getSetCookie()]).toEqual([written, []]);
    expect(token(await send(`/notes/${body}`))).toBe('');
    await resume();
    const done = async () =>
      token(await send(`/notes/${body}`, { headers: { [SESSION_HEADER]: written } })) === '';
    await waitFor(done, { what: 'the token to be of no more use' });
  });

  it('a second write takes its place', async () => {
    const first = token(await post('/notes'));
    const second = token(await post('/notes', { [SESSION_HEADER]: first }));
    expect(second).not.toBe(first);
    expect(await find({ [SESSION_HEADER]: second })).toEqual({ count: 2, replica: false });
  });

  it('an error after the commit carries it, too', async () => {
    const failed = await post('/notes/fail');
    expect(failed.status).toBe(418);
    expect(token(failed)).toMatch(/shard0:[\da-f]+$/);
    expect(await find({ [SESSION_HEADER]: token(failed) })).toEqual({ count: 1, replica: false });
  });

  it('an answer of a guard that has written says that the position is not known', async () => {
    const denied = await post('/notes/audited');
    expect([denied.status, token(denied).slice(46)]).toEqual([403, '.shard0:*']);
    const found = await find({ [SESSION_HEADER]: token(denied) }, 'audited');
    expect([found.count > 0, found.replica]).toEqual([true, false]);
    const next = await send('/notes/audited', { headers: { [SESSION_HEADER]: token(denied) } });
    expect(token(next)).toMatch(/shard0:[\da-f]+$/); // asked for by then
    expect(cookie(next)).toEqual([`${SESSION_COOKIE}=${token(next)}`]);
  });

  it('a handler that writes its response itself gives a marker, or what it has asked for', async () => {
    const raw = await post('/notes/raw');
    expect([await raw.text(), token(raw).slice(46)]).toEqual(['done', '.shard0:*']);
    expect(raw.headers.getSetCookie()).toEqual(['raw=1', expect.stringContaining(token(raw))]);
    expect(await find({ [SESSION_HEADER]: token(raw) })).toEqual({ count: 1, replica: false });
    const asked = await post('/notes/raw-token');
    expect(token(asked)).toMatch(/shard0:[\da-f]+$/);
    expect(token(asked)).toBe(await asked.text());
  });

  it('a stream of events that writes after its head says nothing of it, and goes on', async () => {
    const stream = await send(`/notes/stream/${body}`);
    expect(await stream.text()).toContain('data: written');
    expect(stream.status).toBe(200);
  });

  it('a write inside of a runFor is seen by the request around it, and by the next one', async () => {
    const nested = await post('/notes/nested');
    expect(await nested.json()).toEqual({ count: 1, replica: false });
    expect(await find({ [SESSION_HEADER]: token(nested) })).toEqual({ count: 1, replica: false });
  });

  it('other cookies stay', async () => {
    const response = await post('/notes/cookies');
    const names = response.headers.getSetCookie().map((line) => line.split('=')[0]);
    expect(names).toEqual(['theirs', 'more', SESSION_COOKIE]);
  });

  it('the cookie is Secure where the framework says https', async () => {
    const [line] = (await post('/notes', { 'x-forwarded-proto': 'https' })).headers.getSetCookie();
    expect(line).toMatch(/; Path=\/; HttpOnly; SameSite=Lax; Secure$/);
  });

  it('what is not ours is ignored: forged, foreign, too long, malformed', async () => {
    for (const [what, given] of Object.entries(foreign(token(await post('/notes'))))) {
      const byHeader = await find({ [SESSION_HEADER]: given });
      const byCookie = await find({ cookie: `${SESSION_COOKIE}=${given}` });
      expect([what, byHeader, byCookie]).toEqual([what, ...Array(2).fill({ count: 0, replica: true })]);
    }
  });

  it('any text in its place is ignored', async () => {
    const text = fc.stringMatching(/^[\x21-\x7e]{0,300}$/);
    await fc.assert(
      fc.asyncProperty(text, text, async (header, inCookie) => {
        const headers = { [SESSION_HEADER]: header, cookie: `${SESSION_COOKIE}=${inCookie}` };
        expect(await find(headers)).toEqual({ count: 0, replica: true });
      }),
      { numRuns: 50 },
    );
  });

  it('a token of another tenant is harmless, on a shard without a replica too', async () => {
    const written = token(await post('/notes'));
    const other = await send(`/notes/${body}`, {
      headers: { 'x-tenant-id': 'globex', [SESSION_HEADER]: written },
    });
    expect([other.status, await other.json()]).toEqual([200, { count: 0, replica: false }]);
    const elsewhere = await post('/notes', { 'x-tenant-id': 'globex' });
    expect([elsewhere.status, token(elsewhere), cookie(elsewhere)]).toEqual([201, '', []]);
  });

  it('a position above the one of the primary, after a failover, is dropped', async () => {
    const response = await send(`/notes/${body}`, { headers: { [SESSION_HEADER]: signed(`shard0:${FAR}`) } });
    expect([await response.json(), token(response)]).toEqual([{ count: 0, replica: true }, '']);
    const written = await post('/notes', { [SESSION_HEADER]: signed(`shard0:${FAR}`) });
    expect(token(written)).not.toContain(FAR);
    expect(await find({ [SESSION_HEADER]: token(written) })).toEqual({ count: 1, replica: false });
  });

  it('jobs carry it: runFor takes a token and gives one', async () => {
    const [shards, context, notes] = [app.get(Shards), app.get(RoutingContext), app.get(Notes)];
    const session = await shards.runFor('acme', async () => {
      expect(await context.sessionToken()).toBeUndefined();
      await notes.add('acme', body);
      return context.sessionToken();
    });
    const carried: RunForOptions = { session };
    const read = () => notes.find('acme', body);
    expect(await shards.runFor('acme', read)).toEqual({ count: 0, replica: true });
    expect(await shards.runFor('acme', read, carried)).toEqual({ count: 1, replica: false });
    expect(await shards.runFor('acme', read, { session: `${session}x` })).toEqual({
      count: 0,
      replica: true,
    });
    expect(await find({ [SESSION_HEADER]: session ?? '' })).toEqual({ count: 1, replica: false });
    const passedOn = await shards.runFor('acme', () => context.sessionToken(), carried);
    expect(passedOn).toBe(session);
  });

  it('a primary that does not answer delays the response little, and the token says so', async () => {
    const shard = app.get(Shards).named('shard0');
    const { wal } = shard.reads.replica ?? {};
    const current = wal?.current;
    Object.assign(wal ?? {}, { current: () => new Promise(() => undefined) });
    try {
      const before = performance.now();
      expect(token(await post('/notes')).slice(46)).toBe('.shard0:*');
      expect(performance.now() - before).toBeLessThan(1500);
    } finally {
      Object.assign(wal ?? {}, { current });
    }
  });

  it('under load, on a replica that is always late, no session misses a write of its own', async () => {
    await delayReplay(40);
    await resume();
    const served = { replica: 0, primary: 0 };
    const session = async (lane: number) => {
      let carried: Record<string, string> = {};
      for (let round = 1; round <= 12; round++) {
        const what = `${body}-${lane}`;
        const headers = { 'content-type': 'application/json', ...carried };
        const written = await send('/notes', {
          method: 'POST',
          body: JSON.stringify({ body: what }),
          headers,
        });
        carried = lane % 2 ? { [SESSION_HEADER]: token(written) } : { cookie: cookie(written)[0] ?? '' };
        const found = await find(carried, what);
        expect(found.count).toBe(round);
        served[found.replica ? 'replica' : 'primary']++;
      }
    };
    await Promise.all(Array.from({ length: 16 }, (_none, lane) => session(lane)));
    expect(served.replica + served.primary).toBe(16 * 12);
    await delayReplay(0);
  });

  it('without "session" there are no tokens, and those that come are not looked at', async () => {
    await app.close();
    await boot('request');
    const written = await post('/notes');
    expect([written.status, token(written), written.headers.getSetCookie()]).toEqual([201, '', []]);
    expect(await find({ [SESSION_HEADER]: signed('*') })).toEqual({ count: 0, replica: true });
    const nested = await post('/notes/nested');
    expect(await nested.json()).toEqual({ count: 2, replica: false });
    const context = app.get(RoutingContext);
    expect(
      await app.get(Shards).runFor('acme', () => context.sessionToken(), { session: signed('*') }),
    ).toBeUndefined();
  });
});
