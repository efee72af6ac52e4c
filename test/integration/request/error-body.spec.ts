import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, ForbiddenException, Get, Inject, Req, Res } from '@nestjs/common';
import { SignJWT } from 'jose';
import request from 'supertest';
import { SHARDING_ERRORS, ShardingError, Shards } from '@app/sharding';
import { bootApp } from '../../support/deployment.js';
import { CurrentController, NotesController, WhoController } from './tenant-app.js';
import type { INestApplication } from '@nestjs/common';
import type { ShardingErrorCode, TenancyOptions } from '@app/sharding';
import type { Request, Response } from 'express';

const secret = 's'.repeat(32);
const token = await new SignJWT({ tenant_id: 'marker\u0000' })
  .setProtectedHeader({ alg: 'HS256' })
  .sign(new TextEncoder().encode(secret));

const CODES = Object.keys(SHARDING_ERRORS) as ShardingErrorCode[];

@Controller('errors')
class ErrorController {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  @Get(CODES)
  fail(@Req() from: Request): never {
    const code = from.path.split('/').at(-1) as ShardingErrorCode;
    const cause = Object.assign(new Error('row of globex, password hunter2'), { code: '23505' });
    throw new ShardingError(code, `this is ${code}`, { cause });
  }

  @Get('late')
  late(@Res() response: Response): never {
    response.status(200).write('partial');
    throw new ShardingError('shard_unavailable', 'too late');
  }

  @Get('own')
  own(): never {
    throw new ForbiddenException('mine');
  }

  @Get('bug')
  bug(): never {
    throw new Error('password hunter2');
  }

  @Get('shards/:name')
  async shard(@Req() from: Request): Promise<void> {
    await this.shards.dbOn(String(from.params['name']));
  }
}

let app: INestApplication;

afterEach(() => app.close());

async function boot(tenancy: TenancyOptions = {}): Promise<void> {
  const database = { shards: [{ name: 's0', primaryUrl: 'postgres://user0:hunter2@127.0.0.1:1/none' }] };
  const controllers = [ErrorController, WhoController, NotesController, CurrentController];
  app = await bootApp({ database, tenancy, health: false }, { controllers });
}

const get = (path: string, headers: Record<string, string> = {}) =>
  request(app.getHttpServer()).get(path).set(headers);

describe('the body of an error', () => {
  it('is statusCode, code and message, with the status of its code', async () => {
    await boot();
    for (const code of CODES) {
      const answer = await get(`/errors/${code}`);
      const { status } = SHARDING_ERRORS[code];
      expect([answer.status, answer.type, answer.body]).toEqual([
        status,
        'application/json',
        { statusCode: status, code, message: `this is ${code}` },
      ]);
    }
  });

  it('of a shard that is not there lists the known ones', async () => {
    await boot();
    expect((await get('/errors/shards/other').expect(400)).body).toEqual({
      statusCode: 400,
      code: 'unknown_shard',
      message: 'unknown shard "other"; known shards: s0',
    });
  });

  it("is the framework's own for errors that are not of the library", async () => {
    await boot();
    expect((await get('/errors/own').expect(403)).body).toEqual({
      statusCode: 403,
      message: 'mine',
      error: 'Forbidden',
    });
    expect((await get('/errors/bug').expect(500)).body).toEqual({
      statusCode: 500,
      message: 'Internal server error',
    });
  });

  it('ends an answer that has begun, and the service goes on', async () => {
    await boot();
    expect((await get('/errors/late').expect(200)).text).toBe('partial');
    await get('/errors/own').expect(403);
  });
});

describe('the text of an error', () => {
  const foreign = () => 'someone';

  it.each<[string, TenancyOptions, Record<string, string>, number]>([
    ['a shard that is down', {}, { 'x-tenant-id': 'marker' }, 503],
    ['another principal', { principalTenant: foreign }, { 'x-tenant-id': 'marker' }, 403],
    ['no principal', { principalTenant: () => undefined }, { 'x-tenant-id': 'marker' }, 403],
    ['a list', {}, { 'x-tenant-id': 'marker, x' }, 400],
    ['a long value', {}, { 'x-tenant-id': 'marker'.repeat(50) }, 400],
    ['an ill-encoded value', {}, { 'x-tenant-id': 'marker\u00ff' }, 400],
    ['a normalized value', { normalize: () => 'marker\n' }, { 'x-tenant-id': 'x' }, 400],
    ['an own source', { source: 'custom', resolve: () => 'marker\u007f' }, {}, 400],
    ['a host', { source: 'subdomain' }, { host: 'marker@.example.com' }, 400],
    ['a token', { source: 'jwt', jwtSecret: secret }, { authorization: `Bearer ${token}` }, 400],
    [
      'a broken token',
      { source: 'jwt', jwtSecret: secret },
      { authorization: 'Bearer marker.marker.marker' },
      401,
    ],
  ])('never shows the tenant: %s', async (_what, tenancy, headers, status) => {
    await boot(tenancy);
    for (const path of ['/notes', '/current']) {
      const { status: got, body, text } = await get(path, headers);
      expect(got).toBe(status);
      expect(Object.keys(body as object).toSorted()).toEqual(['code', 'message', 'statusCode']);
      expect(text).not.toMatch(/marker|someone|hunter2|user0|127\.0\.0\.1/);
    }
  });
});
