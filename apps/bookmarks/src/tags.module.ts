import { Module } from '@nestjs/common';
import { JobsModule } from '@app/jobs';
import { ShardingModule } from '@app/sharding';
import { Reindex } from './reindex.js';
import { TagCount } from './tag-count.entity.js';
import { TagsController } from './tags.controller.js';

/** What needs jobs. */
@Module({
  imports: [JobsModule.forRoot({ backend: 'postgres' }), ShardingModule.forFeature([TagCount])],
  controllers: [TagsController],
  providers: [Reindex],
})
export class TagsModule {}
