import {
  Body,
  Controller,
  ForbiddenException,
  Get,
  HttpCode,
  Inject,
  Module,
  Param,
  Post,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ShardedDb, ShardingModule, Shards, Tenant } from '@app/sharding';
import { Note, listen } from '../../support/deployment.js';
import type { CanActivate, INestApplication, ModuleMetadata } from '@nestjs/common';
import type { ShardingOptions, ShardingSetup } from '@app/sharding';

class ClosedGuard implements CanActivate {
  canActivate(): boolean {
    throw new ForbiddenException();
  }
}

@Controller('notes')
export class NotesController {
  constructor(@Inject(ShardedDb) private readonly db: ShardedDb) {}

  @Get(':id')
  one(@Tenant() tenantId: string, @Param('id') id: string): Promise<Note[]> {
    return this.db.getRepository(Note).findBy({ tenantId, id });
  }

  @Post()
  @HttpCode(201)
  async add(@Tenant() tenantId: string, @Body() { body }: { body: string }): Promise<object> {
    await this.db.tx((tx) => tx.getRepository(Note).insert({ tenantId, body }));
    return {};
  }
}

@Controller('work')
export class WorkController {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  @Get('none')
  none(): object {
    return {};
  }

  @Get('current')
  async current(): Promise<object> {
    return (await this.shards.current()).query('select 1 as one');
  }

  @Get('each')
  async each(): Promise<object> {
    return (await this.shards.each(() => 1)).map(({ ok }) => ok);
  }

  @Get('inside/:key')
  async inside(@Param('key') key: string): Promise<object> {
    await this.shards.runFor(key, (db) => db.query('select 1'));
    return {};
  }

  @Get('named/:name')
  async named(@Param('name') name: string): Promise<object> {
    await this.shards.dbOn(name);
    return {};
  }

  @Get('broken/:id')
  broken(): never {
    throw new Error('broken');
  }

  @Get('guarded/:id')
  @UseGuards(ClosedGuard)
  guarded(): object {
    return {};
  }
}

export type Adapter = 'express' | 'fastify';

/** Boots an application that listens; the caller closes it. */
export async function bootMetrics(
  sharding: ShardingOptions & ShardingSetup,
  adapter: Adapter = 'express',
  { configure, ...parts }: ModuleMetadata & { configure?: (app: INestApplication) => void } = {},
): Promise<{ app: INestApplication; url: string }> {
  @Module({
    controllers: [NotesController, WorkController],
    ...parts,
    imports: [ShardingModule.forRoot(sharding), ...(parts.imports ?? [])],
  })
  class MetricsApp {}
  const http = adapter === 'express' ? new ExpressAdapter() : new FastifyAdapter();
  const app = await NestFactory.create(MetricsApp, http, { logger: false, abortOnError: false });
  configure?.(app);
  return { app, url: await listen(app) };
}
