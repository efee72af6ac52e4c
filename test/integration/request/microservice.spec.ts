import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Inject, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ClientProxyFactory, MessagePattern, Payload, Transport } from '@nestjs/microservices';
import { firstValueFrom, throwError } from 'rxjs';
import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';
import {
  CrossShard,
  ShardedEntity,
  ShardingError,
  ShardingModule,
  Shards,
  type CrossShardFanOut,
  type CrossShardRepository,
  type ShardingOptions,
} from '@app/sharding';
import { freePort } from '@test/support';
import { deployment } from '../../support/deployment.js';
import type { ExecutionContext, INestApplication, INestMicroservice } from '@nestjs/common';
import type { ClientTCP } from '@nestjs/microservices';

@ShardedEntity({ tenantColumn: 'tenantId' })
@Entity('notes')
class Memo {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column({ name: 'tenant_id', type: 'text' })
  tenantId!: string;

  @Column({ type: 'text' })
  body!: string;
}

interface Job {
  readonly tenantId: string;
  readonly body?: string;
  readonly admin?: boolean;
}

@Controller()
class MemoMessages {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  @MessagePattern('add')
  async add(@Payload() { tenantId, body = '' }: Job) {
    const { identifiers } = await this.shards.runFor(tenantId, (db) =>
      db.getRepository(Memo).insert({ tenantId, body }),
    );
    return { added: identifiers.length };
  }

  @MessagePattern('where')
  where() {
    return this.shards.current();
  }

  @MessagePattern('streamed')
  streamed() {
    return throwError(
      () => new ShardingError('deadline_exceeded', 'too late', { cause: new Error('postgres://u:p@h/d') }),
    );
  }

  @MessagePattern('mistaken')
  mistaken() {
    return this.shards.each(() => 1, { width: 0 });
  }

  @MessagePattern('own')
  own() {
    throw Object.assign(new Error('postgres://user:hunter2@db/app'), { code: 'mine' });
  }

  @MessagePattern('all')
  async all(@CrossShard(Memo) memos: CrossShardRepository<Memo>, @Payload() _job: Job) {
    return (await memos.find({ order: { body: 'ASC' } })).map(({ body }) => body);
  }

  @MessagePattern('everywhere')
  async everywhere(@CrossShard() shards: CrossShardFanOut) {
    return (await shards.each((reader) => reader.getRepository(Memo).count())).map(({ ok }) => ok);
  }
}

const isAdmin = (context: ExecutionContext | undefined) =>
  context?.getType() === 'rpc' && context.switchToRpc().getData<Job>().admin === true;

const KINDS = ['a microservice', 'an application that is both'] as const;

describe.each(KINDS)('the handlers of %s', (kind) => {
  let app: INestApplication | INestMicroservice;
  let client: ClientTCP;
  const logged: unknown[] = [];

  afterEach(async () => {
    logged.length = 0;
    client.close();
    await app.close();
  });

  const boot = async (sharding: ShardingOptions): Promise<void> => {
    @Module({
      controllers: [MemoMessages],
      imports: [ShardingModule.forRoot(sharding), ShardingModule.forFeature([Memo])],
    })
    class MemoModule {}
    const where = {
      transport: Transport.TCP as const,
      options: { host: '127.0.0.1', port: await freePort() },
    };
    const logger = {
      log: () => undefined,
      warn: () => undefined,
      error: (line: unknown) => logged.push(line),
    };
    const nest = { logger, abortOnError: false };
    if (kind === 'a microservice') {
      const service = await NestFactory.createMicroservice(MemoModule, { ...where, ...nest });
      await service.listen();
      app = service;
    } else {
      const both = await NestFactory.create(MemoModule, nest);
      both.connectMicroservice(where, { inheritAppConfig: true }); // without it Nest gives it no global filter
      await both.startAllMicroservices();
      app = both;
    }
    client = ClientProxyFactory.create(where) as ClientTCP;
  };
  const bootWell = async (options: Partial<ShardingOptions> = {}) => {
    const databases = await deployment(2);
    await boot({ ...databases.options(), ...options, entities: [Memo] });
  };
  const send = (pattern: string, job: object = {}) => firstValueFrom(client.send<unknown>(pattern, job));

  it('work by runFor, and read all shards where crossShardAccess allows it', async () => {
    await bootWell({ crossShardAccess: isAdmin });
    for (const tenantId of ['acme', 'globex']) {
      expect(await send('add', { tenantId, body: `of ${tenantId}` })).toEqual({ added: 1 });
    }
    expect(await send('all', { admin: true })).toEqual(['of acme', 'of globex']);
    expect(await send('everywhere', { admin: true })).toEqual([true, true]);
  });

  it('answer cross_shard_denied where it does not, or where nothing is said', async () => {
    await bootWell({ crossShardAccess: isAdmin });
    const denied = { status: 'error', statusCode: 403, code: 'cross_shard_denied' };
    for (const pattern of ['all', 'everywhere']) {
      await expect(send(pattern, { admin: false })).rejects.toEqual({
        ...denied,
        message: 'crossShardAccess does not allow this caller to read across tenants',
      });
    }
    client.close();
    await app.close();
    await bootWell();
    await expect(send('all', { admin: true })).rejects.toEqual({
      ...denied,
      message: expect.stringContaining('set crossShardAccess: (context) => boolean'),
    });
  });

  it('answer a failure by its code and message alone', async () => {
    await bootWell();
    await expect(send('where')).rejects.toEqual({
      status: 'error',
      statusCode: 400,
      code: 'no_routing_key',
      message: expect.stringContaining('Shards.runFor(key, work)'),
    });
    await expect(send('streamed')).rejects.toEqual({
      status: 'error',
      statusCode: 504,
      code: 'deadline_exceeded',
      message: 'too late',
    });
    expect(logged).toEqual([]);
    const mistake = { statusCode: 500, code: 'invalid_options' };
    await expect(send('mistaken')).rejects.toMatchObject(mistake);
    expect(logged).toEqual([expect.objectContaining({ code: 'invalid_options' })]);
    await expect(send('own')).rejects.toEqual({ status: 'error', message: 'Internal server error' });
  });

  it('tell of a shard that is gone, and nothing of how it is reached', async () => {
    const port = await freePort();
    await boot({
      database: {
        shards: [{ name: 'shard0', primaryUrl: `postgres://someone:hunter2@127.0.0.1:${port}/app` }],
      },
      entities: [Memo],
    });
    const failure: unknown = await send('add', { tenantId: 'acme', body: 'x' }).catch(
      (error: unknown) => error,
    );
    expect(failure).toEqual({
      status: 'error',
      statusCode: 503,
      code: 'shard_unavailable',
      message: expect.stringContaining('shard "shard0"'),
    });
    expect(JSON.stringify(failure)).not.toMatch(new RegExp(`hunter2|someone|postgres:|${port}`));
  });
});
