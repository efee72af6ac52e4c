import { Module } from '@nestjs/common';
import { ShardingModule } from '@app/sharding';
import { AdminController } from './admin.controller.js';
import { isAdmin } from './admin-key.guard.js';
import { Bookmark } from './bookmark.entity.js';
import { BookmarksController } from './bookmarks.controller.js';
import { StatsController } from './stats.controller.js';
import { TagCount } from './tag-count.entity.js';
import { TagsModule } from './tags.module.js';
import type { DynamicModule } from '@nestjs/common';
import type { ShardingOptions } from '@app/sharding';

/** What the code knows; databases, migrations and tenancy come from `sharding.toml` and the environment. */
export const bookmarksSharding = {
  entities: [Bookmark, TagCount],
  crossShardAccess: isAdmin,
} satisfies ShardingOptions;

@Module({ controllers: [AdminController, BookmarksController, StatsController] })
export class AppModule {
  /**
   * @param options in place of the configuration file, for tests and the demo
   * @param jobs `off`: nothing that needs a queue
   */
  static register(options: ShardingOptions = {}, jobs: 'on' | 'off' = 'on'): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ShardingModule.forRoot({ ...bookmarksSharding, ...options }),
        ShardingModule.forFeature([Bookmark]),
        ...(jobs === 'on' ? [TagsModule] : []),
      ],
    };
  }
}
