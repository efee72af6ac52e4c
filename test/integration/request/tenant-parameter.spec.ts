import { afterEach, describe, expect, it } from '@jest/globals';
import { Body, Controller, Get, Injectable, Param, Post, ValidationPipe } from '@nestjs/common';
import { IsInt } from 'class-validator';
import { APP_PIPE } from '@nestjs/core';
import request from 'supertest';
import { Tenant } from '@app/sharding';
import { bootApp } from '../../support/deployment.js';
import type { INestApplication, PipeTransform } from '@nestjs/common';
import type { TenancyOptions } from '@app/sharding';

class Amount {
  @IsInt()
  amount!: number;
}

@Injectable()
class Shout implements PipeTransform<string, string> {
  transform(value: string): string {
    return value.toUpperCase();
  }
}

@Controller('tenants')
class TenantController {
  @Get()
  plain(@Tenant() tenant: string): object {
    return { tenant };
  }

  @Get('untyped')
  untyped(@Tenant() tenant: unknown): object {
    return { tenant };
  }

  @Get('piped')
  piped(@Tenant(Shout) tenant: string): object {
    return { tenant };
  }

  @Post(':id')
  mixed(@Param('id') id: number, @Tenant() tenant: string, @Body() body: Amount): object {
    return { id, tenant, amount: body.amount };
  }
}

let app: INestApplication;

afterEach(() => app.close());

async function boot(tenancy: TenancyOptions, pipe?: ValidationPipe): Promise<void> {
  const database = { url: 'postgres://127.0.0.1:1/none' };
  const providers = pipe ? [{ provide: APP_PIPE, useValue: pipe }] : [];
  app = await bootApp({ database, tenancy, health: false }, { controllers: [TenantController], providers });
}

const get = (path: string, tenant: string) =>
  request(app.getHttpServer()).get(path).set('x-tenant-id', tenant);

describe('@Tenant()', () => {
  it.each([
    ['no pipe', undefined],
    ['a ValidationPipe', new ValidationPipe()],
    [
      'a ValidationPipe that transforms and validates custom parameters',
      new ValidationPipe({
        transform: true,
        validateCustomDecorators: true,
        whitelist: true,
        forbidNonWhitelisted: true,
      }),
    ],
  ])('is the tenant as a string, with %s', async (_what, pipe) => {
    await boot({}, pipe);
    for (const tenant of ['acme', '007', 'true', 'null', '{"a":1}', '__proto__']) {
      expect((await get('/tenants', tenant).expect(200)).body).toEqual({ tenant });
      expect((await get('/tenants/untyped', tenant).expect(200)).body).toEqual({ tenant });
    }
  });

  it('goes with other parameters, which are transformed as usual', async () => {
    await boot({}, new ValidationPipe({ transform: true, validateCustomDecorators: true }));
    const post = (body: object) =>
      request(app.getHttpServer()).post('/tenants/7').set('x-tenant-id', '42').send(body);
    expect((await post({ amount: 3 }).expect(201)).body).toEqual({ id: 7, tenant: '42', amount: 3 });
    expect((await post({ amount: 'x' }).expect(400)).body).toMatchObject({ error: 'Bad Request' });
  });

  it('takes pipes of its own', async () => {
    await boot({});
    expect((await get('/tenants/piped', 'acme').expect(200)).body).toEqual({ tenant: 'ACME' });
  });

  it('is what normalize made of it', async () => {
    await boot({ normalize: (tenant) => tenant.trim().toLowerCase() });
    expect((await get('/tenants', 'ACME').expect(200)).body).toEqual({ tenant: 'acme' });
    expect((await get('/tenants', '  ').expect(400)).body).toMatchObject({ code: 'invalid_tenant' });
  });

  it('is what a source of its own says, which sees the request', async () => {
    const resolve = async (from: unknown) => (from as { query: { org?: string } }).query.org;
    await boot({ source: 'custom', resolve });
    expect((await get('/tenants?org=globex', 'acme').expect(200)).body).toEqual({ tenant: 'globex' });
    expect((await get('/tenants', 'acme').expect(400)).body).toEqual({
      statusCode: 400,
      code: 'no_routing_key',
      message: 'the request names no tenant',
    });
  });
});
