import { createParamDecorator, Inject, Injectable } from '@nestjs/common';
import { ShardingError } from '@app/routing';
import { CrossShardReads } from './cross-shard-reads.js';
import type { ExecutionContext, PipeTransform } from '@nestjs/common';
import type { CrossShardTarget } from './cross-shard-reads.js';

/** What stands in the parameter until the pipe has made the repository of it. */
interface Probe {
  readonly target: CrossShardTarget | undefined;
  readonly context: ExecutionContext;
}

/** By a frozen object without properties: other pipes see nothing to walk through. */
const probes = new WeakMap<object, Probe>();

/** Turns the parameter into what it was declared for; a singleton, so that controllers stay singletons. */
@Injectable()
export class CrossShardPipe implements PipeTransform<object, Promise<object>> {
  constructor(@Inject(CrossShardReads) private readonly reads: CrossShardReads) {}

  /** @throws ShardingError `cross_shard_denied` */
  async transform(value: object): Promise<object> {
    const probe = probes.get(value);
    if (!probe) {
      throw new ShardingError(
        'invalid_options',
        'a pipe has replaced the parameter of @CrossShard: declare its type as CrossShardRepository<Entity>, or CrossShardFanOut, by "import type"',
      );
    }
    await this.reads.assertMay(probe.context);
    return probe.target ? this.reads.repositoryOf(probe.target) : this.reads.fanOut();
  }
}

const parameter = createParamDecorator(
  ({ target }: { target: CrossShardTarget | undefined }, context: ExecutionContext) => {
    const value = Object.freeze({});
    probes.set(value, { target, context });
    return value;
  },
);

/**
 * In a handler's parameter: reads across all tenants and shards, for those whom `crossShardAccess` allows. It needs no
 * tenant and has no methods that write. Given an entity, or a custom repository, it is a `CrossShardRepository`; without,
 * a `CrossShardFanOut`.
 *
 * @example list(\@CrossShard(Bookmark) bookmarks: CrossShardRepository<Bookmark>) { ... }
 */
export const CrossShard = (target?: CrossShardTarget): ParameterDecorator =>
  parameter({ target }, CrossShardPipe);
