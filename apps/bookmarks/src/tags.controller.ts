import { Controller, Get, HttpCode, Inject, Post } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import { InjectShardedRepository, ShardedRepository, Tenant } from '@app/sharding';
import { Reindex } from './reindex.js';
import { TagCount } from './tag-count.entity.js';

const LIST_LIMIT = 500;

/** The tags of one tenant, as a job has counted them. */
@ApiTags('tags')
@ApiHeader({ name: 'x-tenant-id', required: true, description: 'The tenant; also the routing key' })
@Controller('api/tags')
export class TagsController {
  constructor(
    @InjectShardedRepository(TagCount) private readonly counts: ShardedRepository<TagCount>,
    @Inject(Reindex) private readonly reindex: Reindex,
  ) {}

  @Get()
  async list(): Promise<Record<string, number>> {
    const rows = await this.counts.find({ order: { bookmarks: 'DESC', tag: 'ASC' }, take: LIST_LIMIT });
    return Object.fromEntries(rows.map(({ tag, bookmarks }) => [tag, bookmarks]));
  }

  @Post('reindex')
  @HttpCode(202)
  ask(@Tenant() tenantId: string): Promise<void> {
    return this.reindex.ask(tenantId);
  }
}
