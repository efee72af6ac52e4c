import { Inject, Injectable } from '@nestjs/common';
import { HealthIndicatorService } from '@nestjs/terminus';
import { Fleet } from '../shards/fleet.js';
import { DatabaseProbe } from './database-probe.js';
import type { HealthIndicatorFunction, HealthIndicatorResult } from '@nestjs/terminus';
import type { Database } from '../shards/database.js';
import type { Shard } from '../shards/shard.js';

/**
 * The health components `db:control` and `db:shard:<name>`. Use {@link all} in a controller of your own:
 * `health.check(indicator.all())`. Components never throw; all are probed at the same time.
 */
@Injectable()
export class ShardHealthIndicator {
  constructor(
    @Inject(HealthIndicatorService) private readonly health: HealthIndicatorService,
    @Inject(Fleet) private readonly fleet: Fleet,
    @Inject(DatabaseProbe) private readonly probe: DatabaseProbe,
  ) {}

  /** One component a database, control first, then the shards in declaration order. */
  all(): HealthIndicatorFunction[] {
    const control = this.fleet.control?.database;
    return [
      ...(control ? [() => this.component('db:control', control, {})] : []),
      ...this.fleet.shards.map((shard) => () => this.shard(shard)),
    ];
  }

  /** The component `db:shard:<name>`; take the shard from `Shards`. */
  shard({ name, database, slots }: Shard): Promise<HealthIndicatorResult> {
    return this.component(`db:shard:${name}`, database, { slots });
  }

  private async component(key: string, database: Database, facts: object): Promise<HealthIndicatorResult> {
    const { ready, detail } = await this.probe.probe(database);
    const { max, active, idle } = database.stats();
    const details = {
      ...facts,
      pool_size: max,
      active_connections: active,
      idle_connections: idle,
      primary_ready: ready,
      primary_detail: detail,
    };
    const check = this.health.check(key);
    return ready ? check.up(details) : check.down(details);
  }
}
