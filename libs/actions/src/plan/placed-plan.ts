import type { RoutingKey } from '@app/routing';
import type { Shard } from '@app/sharding';
import type { OutboxEvent } from '../outbox/outbox-event.js';
import type { TypedEntity } from '../rows/entity-row.js';
import type { RowOperation } from '../rows/row-operation.js';

/** One change, and the entity that it was made from. */
export interface PlacedChange extends TypedEntity {
  readonly operation: RowOperation;
}

/** What is written on one shard. */
export interface PlacedPart {
  readonly shard: Shard;
  readonly changes: readonly PlacedChange[];
  readonly events: readonly OutboxEvent[];
  /** What its rows are routed by. */
  readonly keys: readonly RoutingKey[];
}

/** A plan, grouped by shard. */
export interface PlacedPlan {
  /** In the order in which they are written: group, member, declaration. */
  readonly parts: readonly PlacedPart[];
}
