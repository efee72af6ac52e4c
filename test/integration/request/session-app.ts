import {
  Body,
  Controller,
  ForbiddenException,
  Get,
  HttpException,
  Inject,
  Injectable,
  Param,
  Post,
  Req,
  Res,
  Sse,
  UseGuards,
} from '@nestjs/common';
import { from } from 'rxjs';
import { RoutingContext, Shards, Tenant } from '@app/sharding';
import { Note } from '../../support/deployment.js';
import type { CanActivate, MessageEvent } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import type { Observable } from 'rxjs';

/** Node's response below the one of the framework. */
type Reply = ServerResponse & { readonly raw?: ServerResponse };

export interface Found {
  readonly count: number;
  /** Whether the replica has answered. */
  readonly replica: boolean;
}

@Injectable()
export class Notes {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  async add(tenantId: string, body: string): Promise<void> {
    const db = await this.shards.dbFor(tenantId);
    await db.getRepository(Note).insert({ tenantId, body });
  }

  async find(tenantId: string, body: string): Promise<Found | undefined> {
    const reader = await this.shards.readFor(tenantId);
    const [found] = await reader.query<Found[]>(
      `select count(*)::int as count, pg_is_in_recovery() as replica from notes where tenant_id = $1 and body = $2`,
      [tenantId, body],
    );
    return found;
  }
}

/** Writes something and lets nobody in. */
@Injectable()
class AuditGuard implements CanActivate {
  constructor(@Inject(Notes) private readonly notes: Notes) {}

  async canActivate(): Promise<boolean> {
    await this.notes.add('acme', 'audited');
    throw new ForbiddenException();
  }
}

/** Notes written and read in every way that a response can be made. */
@Controller('notes')
export class SessionController {
  constructor(
    @Inject(Notes) private readonly notes: Notes,
    @Inject(Shards) private readonly shards: Shards,
    @Inject(RoutingContext) private readonly context: RoutingContext,
  ) {}

  @Get(':body')
  async find(@Tenant() tenant: string, @Param('body') body: string): Promise<object> {
    return { ...(await this.notes.find(tenant, body)) };
  }

  @Post()
  async add(@Tenant() tenant: string, @Body('body') body: string): Promise<object> {
    await this.notes.add(tenant, body);
    return {};
  }

  @Post('fail')
  async fail(@Tenant() tenant: string, @Body('body') body: string): Promise<never> {
    await this.notes.add(tenant, body);
    throw new HttpException('after the commit', 418);
  }

  @Post('audited')
  @UseGuards(AuditGuard)
  audited(): void {}

  @Post('raw')
  async raw(@Tenant() tenant: string, @Body('body') body: string, @Res() reply: Reply): Promise<void> {
    await this.notes.add(tenant, body);
    (reply.raw ?? reply).writeHead(200, { 'content-type': 'text/plain', 'Set-Cookie': 'raw=1' }).end('done');
  }

  @Post('raw-token')
  async rawToken(@Tenant() tenant: string, @Body('body') body: string, @Res() reply: Reply): Promise<void> {
    await this.notes.add(tenant, body);
    (reply.raw ?? reply).end(await this.context.sessionToken());
  }

  @Post('nested')
  async nested(@Tenant() tenant: string, @Body('body') body: string): Promise<object> {
    await this.shards.runFor(tenant, () => this.notes.add(tenant, body));
    return { ...(await this.notes.find(tenant, body)) };
  }

  @Post('cookies')
  async cookies(
    @Tenant() tenant: string,
    @Body('body') body: string,
    @Res({ passthrough: true }) reply: Reply,
  ) {
    await this.notes.add(tenant, body);
    const { cookie, header } = reply as unknown as Record<string, (...parts: unknown[]) => unknown>;
    if (reply.raw) header?.call(reply, 'set-cookie', ['theirs=1', 'more=2']);
    else for (const [name, value] of Object.entries({ theirs: 1, more: 2 })) cookie?.call(reply, name, value);
    return {};
  }

  @Sse('stream/:body')
  stream(
    @Tenant() tenant: string,
    @Param('body') body: string,
    @Req() _request: object,
  ): Observable<MessageEvent> {
    return from(this.notes.add(tenant, body).then(() => ({ data: 'written' })));
  }
}
