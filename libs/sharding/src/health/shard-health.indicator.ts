import { Inject, Injectable } from '@nestjs/common';
import { HealthIndicatorService } from '@nestjs/terminus';
import { HEALTH_COMPONENTS } from '../health-components.js';
import { Fleet } from '../shards/fleet.js';
import { ShardFacts } from '../shard-facts.js';
import { DatabaseProbe } from './database-probe.js';
import type { HealthIndicatorFunction, HealthIndicatorResult } from '@nestjs/terminus';
import type { HealthComponent, HealthComponents } from '../health-components.js';
import type { Reads } from '../shards/reads/reads.js';
import type { ReplicaStatus } from '../shards/reads/replica.js';
import type { Shard } from '../shards/shard.js';

/**
 * The health components `db:control` and `db:shard:<name>`. Use {@link all} in a controller of your own:
 * `health.check(indicator.all())`. Components never throw; all are probed at the same time.
 */
@Injectable()
export class ShardHealthIndicator {
  @Inject(HEALTH_COMPONENTS) private readonly others!: HealthComponents;
  @Inject(ShardFacts) private readonly facts!: ShardFacts;

  constructor(
    @Inject(HealthIndicatorService) private readonly health: HealthIndicatorService,
    @Inject(Fleet) private readonly fleet: Fleet,
    @Inject(DatabaseProbe) private readonly probe: DatabaseProbe,
  ) {}

  /** One component a database, control first, then the shards in declaration order; after them the directory. */
  all(): HealthIndicatorFunction[] {
    const { control } = this.fleet;
    return [
      ...(control ? [() => this.component('db:control', control.reads, {})] : []),
      ...this.fleet.shards.map((shard) => () => this.shard(shard)),
      ...this.others().map((component) => async () => this.other(component)),
    ];
  }

  /** The component `db:shard:<name>`; take the shard from `Shards`. */
  shard({ name, reads, slots, group }: Shard): Promise<HealthIndicatorResult> {
    return this.component(`db:shard:${name}`, reads, { group, slots, ...this.facts.of(name) });
  }

  private other(component: HealthComponent): HealthIndicatorResult {
    const { up, details } = component.check();
    const check = this.health.check(component.key);
    return up ? check.up(details) : check.down(details);
  }

  /** Up when the primary answers and reads have somewhere to go. */
  private async component(key: string, reads: Reads, facts: object): Promise<HealthIndicatorResult> {
    const { ready, detail } = await this.probe.probe(reads.primary);
    const { max, active, idle } = reads.primary.stats();
    const details = {
      ...facts,
      pool_size: max,
      active_connections: active,
      idle_connections: idle,
      primary_ready: ready,
      primary_detail: detail,
      ...replicaDetails(reads.replicaStatus()),
      ...(this.fleet.draining && { shutting_down: true }),
    };
    const check = this.health.check(key);
    const up = ready && reads.available && !this.fleet.draining;
    return up ? check.up(details) : check.down(details);
  }
}

function replicaDetails(status: ReplicaStatus | undefined): object {
  if (!status) return {};
  return {
    replica_ready: status.ready,
    replica_detail: status.detail,
    replica_lag_ms: status.lagMs ?? null,
  };
}
