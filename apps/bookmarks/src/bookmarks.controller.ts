import { Body, Controller, Get, Inject, Post } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import { Idempotent, InjectShardedRepository, ShardedRepository, Shards } from '@app/sharding';
import { Bookmark } from './bookmark.entity.js';
import { CreateBookmarkDto } from './create-bookmark.dto.js';

/** The newest ones are listed; a page of them is enough for the example. */
const LIST_LIMIT = 500;

/** Of one tenant: the repository filters what it reads and stamps what it writes. */
@ApiTags('bookmarks')
@ApiHeader({ name: 'x-tenant-id', required: true, description: 'The tenant; also the routing key' })
@Controller('api/bookmarks')
export class BookmarksController {
  constructor(
    @InjectShardedRepository(Bookmark) private readonly bookmarks: ShardedRepository<Bookmark>,
    @Inject(Shards) private readonly shards: Shards,
  ) {}

  @Get()
  async list(): Promise<{ shard: string; bookmarks: Bookmark[] }> {
    const { shard } = await this.shards.locate();
    const bookmarks = await this.bookmarks.find({
      order: { createdAt: 'DESC', id: 'DESC' },
      take: LIST_LIMIT,
    });
    return { shard: shard.name, bookmarks };
  }

  /** A client that sends an Idempotency-Key may repeat the request without a second bookmark. */
  @Post()
  @Idempotent({ key: 'optional' })
  create(@Body() { url, title, tag = '' }: CreateBookmarkDto): Promise<Bookmark> {
    return this.bookmarks.save({ url, title, tag });
  }
}
