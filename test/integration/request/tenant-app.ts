import { Body, Controller, Get, Inject, Post } from '@nestjs/common';
import { ShardedDb, Shards, Tenant } from '@app/sharding';
import { Note } from '../../support/deployment.js';
import type { ShardDb } from '@app/sharding';

/** The tenant alone: no database is needed. */
@Controller('who')
export class WhoController {
  @Get()
  who(@Tenant() tenant: string): { tenant: string } {
    return { tenant };
  }
}

/** Notes over the request-scoped `ShardedDb`. */
@Controller('notes')
export class NotesController {
  constructor(@Inject(ShardedDb) private readonly db: ShardedDb) {}

  @Get()
  list(@Tenant() tenantId: string): Promise<NoteList> {
    return notesOf(this.db, tenantId);
  }

  @Post()
  async add(@Tenant() tenantId: string, @Body('body') body: string): Promise<{ shard: string }> {
    await this.db.getRepository(Note).insert({ tenantId, body });
    return { shard: this.db.shard.name };
  }
}

/** Notes over the singleton `Shards`, routed at the first use. */
@Controller('current')
export class CurrentController {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  @Get()
  async list(@Tenant() tenantId: string): Promise<NoteList> {
    return notesOf(await this.shards.current(), tenantId);
  }
}

export interface NoteList {
  readonly tenant: string;
  readonly shard: string;
  readonly notes: readonly string[];
}

async function notesOf(db: ShardDb, tenantId: string): Promise<NoteList> {
  const notes = await db.getRepository(Note).find({ where: { tenantId }, order: { id: 'ASC' } });
  return { tenant: tenantId, shard: db.shard.name, notes: notes.map((note) => note.body) };
}
