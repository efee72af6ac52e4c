import { Controller, Get, Query, UseGuards } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import { CrossShard } from '@app/sharding';
import { AdminKeyGuard } from './admin-key.guard.js';
import { Bookmark } from './bookmark.entity.js';
import { PageQuery } from './page-query.dto.js';
import type { CrossShardRepository } from '@app/sharding';

const TOP_TAGS = 10;

/** Over all tenants and shards, for those who have the key. */
@ApiTags('admin')
@ApiHeader({ name: 'x-api-key', required: true, description: 'BOOKMARKS_ADMIN_KEY of the service' })
@UseGuards(AdminKeyGuard)
@Controller('admin')
export class AdminController {
  /** Newest first, in one order over all shards; `next` is the cursor of the page behind. */
  @Get('bookmarks')
  async list(
    @CrossShard(Bookmark) bookmarks: CrossShardRepository<Bookmark>,
    @Query() { take, after, partial }: PageQuery,
  ): Promise<object> {
    const query = {
      order: { createdAt: 'DESC', id: 'DESC' },
      take,
      ...(after !== undefined && { after }),
    } as const;
    if (partial !== '1') {
      const { rows, next } = await bookmarks.page(query);
      return { bookmarks: rows, next };
    }
    const { rows, next, missing } = await bookmarks.page({ ...query, shards: 'partial' });
    return { bookmarks: rows, next, missing };
  }

  @Get('top-tags')
  topTags(@CrossShard(Bookmark) bookmarks: CrossShardRepository<Bookmark>): Promise<object> {
    return bookmarks.groupBy(
      ['tag'],
      { bookmarks: { count: '*' } },
      { order: { bookmarks: 'DESC', tag: 'ASC' }, take: TOP_TAGS },
    );
  }
}
