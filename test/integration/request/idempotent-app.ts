import {
  Body,
  ConflictException,
  Controller,
  HttpCode,
  HttpException,
  Inject,
  Post,
  Res,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { map, of } from 'rxjs';
import { Idempotent, IdempotentTx, ShardedDb, Shards, Tenant } from '@app/sharding';
import { Note } from '../../support/deployment.js';
import type { CallHandler, NestInterceptor } from '@nestjs/common';
import type { Observable } from 'rxjs';
import type { EntityManager } from 'typeorm';

/** Takes what the client may not see out of the answer. */
class HideSecret implements NestInterceptor {
  intercept(_context: unknown, next: CallHandler): Observable<unknown> {
    const hidden = ({ secret: _secret, ...rest }: { secret?: string }) => rest;
    return next.handle().pipe(map((value) => hidden(value as object)));
  }
}

/** What the handlers of the running test do between their two writes. */
export const between: { step: (body: string) => unknown } = { step: () => undefined };

type Reply = { status(code: number): unknown; send(body: unknown): unknown };

/** Notes that are written once a key. */
@Controller('once')
export class OnceController {
  constructor(
    @Inject(ShardedDb) private readonly db: ShardedDb,
    @Inject(Shards) private readonly shards: Shards,
  ) {}

  /** One row by the request's own `ShardedDb`, one by `Shards` in a nested transaction. */
  @Post()
  @Idempotent({ waitMs: 8000 })
  @UseInterceptors(HideSecret)
  async add(@Tenant() tenantId: string, @Body() { body }: { body: string }): Promise<object> {
    const { identifiers } = await this.db.getRepository(Note).insert({ tenantId, body });
    await between.step(body);
    const db = await this.shards.current();
    await db.tx((tx) => tx.getRepository(Note).insert({ tenantId, body: `${body} again` }));
    return { id: (identifiers[0] as Note).id, zero: '\u0000', secret: 'hidden' };
  }

  @Post('hasty')
  @HttpCode(202)
  @Idempotent({ waitMs: 0 })
  async hasty(@Tenant() tenantId: string, @Body() { body }: { body: string }): Promise<object> {
    await this.db.getRepository(Note).insert({ tenantId, body });
    await between.step(body);
    return { done: true };
  }

  @Post('conflict')
  @Idempotent()
  async conflict(@Tenant() tenantId: string): Promise<never> {
    await this.db.getRepository(Note).insert({ tenantId, body: 'refused' });
    throw new ConflictException('mine');
  }

  @Post('status')
  @Idempotent()
  async status(
    @Tenant() tenantId: string,
    @Body() { status }: { status: number },
    @Res({ passthrough: true }) reply: Reply,
  ): Promise<object> {
    await this.db.getRepository(Note).insert({ tenantId, body: String(status) });
    reply.status(status);
    return { status };
  }

  @Post('empty')
  @Idempotent()
  async empty(@Tenant() tenantId: string): Promise<void> {
    await this.db.getRepository(Note).insert({ tenantId, body: 'empty' });
  }

  @Post('text')
  @Idempotent({ key: 'optional' })
  async text(@Tenant() tenantId: string): Promise<Observable<string>> {
    await this.db.getRepository(Note).insert({ tenantId, body: 'text' });
    return of('first', 'last');
  }

  @Post('long')
  @Idempotent({ maxAnswerBytes: 20 })
  async long(@Tenant() tenantId: string): Promise<object> {
    await this.db.getRepository(Note).insert({ tenantId, body: 'long' });
    return { text: 'x'.repeat(20) };
  }

  @Post('file')
  @Idempotent()
  async file(@Tenant() tenantId: string): Promise<StreamableFile> {
    await this.db.getRepository(Note).insert({ tenantId, body: 'file' });
    return new StreamableFile(Buffer.from('file'));
  }

  @Post('other-shard')
  @Idempotent()
  async otherShard(@Tenant() tenantId: string, @Body() { shard }: { shard: string }): Promise<void> {
    await this.db.getRepository(Note).insert({ tenantId, body: 'half' });
    const other = await this.shards.dbOn(shard);
    await other.getRepository(Note).insert({ tenantId, body: 'other half' });
  }

  @Post('control')
  @Idempotent({ store: 'control', scope: () => 'everybody' })
  async control(@IdempotentTx() tx: EntityManager, @Body() { body }: { body: string }): Promise<object> {
    await tx.query(`insert into plain_notes (body) values ($1)`, [body]);
    if (body === 'fails') throw new HttpException('mine', 503);
    return { body };
  }
}
