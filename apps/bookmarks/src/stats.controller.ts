import { Controller, Get, Inject } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ShardingError, Shards } from '@app/sharding';
import { Bookmark } from './bookmark.entity.js';

/** Statistics are for a glance: a shard that takes longer is shown as late. */
const STATS_DEADLINE_MS = 6000;

export interface ShardStats {
  slots: number;
  bookmarks: number | null;
  error?: string;
}

@ApiTags('stats')
@Controller('api/stats')
export class StatsController {
  constructor(@Inject(Shards) private readonly shards: Shards) {}

  /** Counts on every shard; one that is down is shown as such and hides no other. */
  @Get()
  async stats(): Promise<Record<string, ShardStats>> {
    const outcomes = await this.shards.each((db) => db.getRepository(Bookmark).count(), {
      deadlineMs: STATS_DEADLINE_MS,
    });
    return Object.fromEntries(
      outcomes.map((outcome) => {
        const { name, slots } = outcome.shard;
        if (outcome.ok) return [name, { slots, bookmarks: outcome.value }];
        const error = outcome.error instanceof ShardingError ? outcome.error.code : 'internal_error';
        return [name, { slots, bookmarks: null, error }];
      }),
    );
  }
}
