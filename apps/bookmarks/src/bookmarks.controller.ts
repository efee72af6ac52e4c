import { Body, Controller, Get, Inject, Post } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import { ShardedDb, Tenant } from '@app/sharding';
import { Bookmark } from './bookmark.entity.js';
import { CreateBookmarkDto } from './create-bookmark.dto.js';

/** The newest ones are listed; a page of them is enough for the example. */
const LIST_LIMIT = 500;

@ApiTags('bookmarks')
@ApiHeader({ name: 'x-tenant-id', required: true, description: 'The tenant; also the routing key' })
@Controller('api/bookmarks')
export class BookmarksController {
  constructor(@Inject(ShardedDb) private readonly db: ShardedDb) {}

  @Get()
  async list(@Tenant() tenantId: string): Promise<{ shard: string; bookmarks: Bookmark[] }> {
    const reads = this.db.reader(); // the replica of the tenant's shard where one is ready, else the primary
    const bookmarks = await reads.getRepository(Bookmark).find({
      where: { tenantId }, // several tenants share a shard: always filter by tenant
      order: { createdAt: 'DESC', id: 'DESC' },
      take: LIST_LIMIT,
    });
    return { shard: this.db.shard.name, bookmarks };
  }

  @Post()
  create(@Tenant() tenantId: string, @Body() { url, title, tag = '' }: CreateBookmarkDto): Promise<Bookmark> {
    return this.db.getRepository(Bookmark).save({ tenantId, url, title, tag });
  }
}
