import { randomUUID } from 'node:crypto';
import { ShardingError } from '@app/routing';
import { eventKey } from '../outbox/event-key.js';
import { rowId, rowOperation } from '../rows/entity-row.js';
import { stagedTwice } from './action-plan.js';
import type { RoutingKey } from '@app/routing';
import type { EntityPlace, EntityPlaces, Shard, Shards } from '@app/sharding';
import type { OutboxEvent } from '../outbox/outbox-event.js';
import type { ActionPlan, StagedEvent } from './action-plan.js';
import type { PlacedChange, PlacedPart, PlacedPlan } from './placed-plan.js';

/** Who is asked where things are. */
export interface Placing {
  readonly places: EntityPlaces;
  readonly shards: Shards;
  readonly actionId: string;
  /** The routing key of the running work. */
  readonly key: RoutingKey | undefined;
  /** Whose rows may be changed. */
  readonly tenants: 'own' | 'any';
}

interface Placed {
  readonly place: EntityPlace;
  readonly change: PlacedChange;
}

interface PlacedEvent {
  readonly shard: Shard;
  readonly event: OutboxEvent;
  readonly key: RoutingKey | undefined;
}

/**
 * Groups what is staged by the shards that it belongs to, and takes the values of the entities.
 *
 * @throws ShardingError `cross_tenant`, `no_placement`, `invalid_options`, and what `EntityPlaces.of` throws
 */
export async function placePlan(plan: ActionPlan, on: Placing): Promise<PlacedPlan> {
  const placed: Placed[] = [];
  for (const { kind, entity } of plan.changes) {
    const place = await on.places.of(entity, { row: kind === 'insert' ? 'new' : 'stored', key: on.key });
    const typed = { entity, metadata: place.metadata, tenantColumn: place.tenantColumn };
    placed.push({ place, change: { ...typed, operation: rowOperation(kind, typed) } });
  }
  assertOnce(placed);
  if (on.tenants === 'own') assertOwnTenant(placed, on.key);
  const occurredAt = new Date();
  const events: PlacedEvent[] = [];
  for (const staged of plan.events) events.push(await placeEvent(staged, { placed, occurredAt, ...on }));
  return { parts: partsOf(placed, events) };
}

function partsOf(placed: readonly Placed[], events: readonly PlacedEvent[]): PlacedPart[] {
  const shards = new Set([...placed.map(({ place }) => place.shard), ...events.map(({ shard }) => shard)]);
  return inOrder([...shards]).map((shard) => {
    const changes = placed.filter(({ place }) => place.shard === shard);
    const told = events.filter((event) => event.shard === shard);
    const keys = [...changes.map(({ place }) => place.key), ...told.map(({ key }) => key)];
    return {
      shard,
      changes: changes.map(({ change }) => change),
      events: told.map(({ event }) => event),
      keys: [...new Set(keys.filter((key) => key !== undefined))],
    };
  });
}

/** Group, then member; shards without a member behind the others, in the order in which they were met. */
function inOrder(shards: readonly Shard[]): Shard[] {
  const member = ({ identifier }: Shard) => identifier?.member ?? Number.MAX_SAFE_INTEGER;
  return shards.toSorted((a, b) => a.group - b.group || member(a) - member(b));
}

function assertOnce(placed: readonly Placed[]): void {
  const rows = new Set<string>();
  for (const { change } of placed) {
    const id = rowId(change);
    if (id === undefined) continue;
    const row = JSON.stringify([change.operation.table, id]);
    if (rows.has(row)) throw stagedTwice(change.metadata.name);
    rows.add(row);
  }
}

/** Whose tenant is not said: the message may reach another one. */
function assertOwnTenant(placed: readonly Placed[], running: RoutingKey | undefined): void {
  let tenant = running === undefined ? undefined : String(running);
  for (const { place } of placed) {
    if (place.tenantColumn === undefined) continue;
    const own = String(place.key);
    tenant ??= own;
    if (own === tenant) continue;
    throw new ShardingError(
      'cross_tenant',
      `${place.metadata.name}: rows of another tenant are staged; an action changes those of one, unless it is declared with tenants: 'any'`,
    );
  }
}

interface PlacingEvent extends Placing {
  readonly placed: readonly Placed[];
  readonly occurredAt: Date;
}

async function placeEvent(staged: StagedEvent, on: PlacingEvent): Promise<PlacedEvent> {
  const { shard, key, aggregateId } = await aggregateOf(staged, on);
  const event: OutboxEvent = {
    eventId: randomUUID(),
    actionId: on.actionId,
    type: staged.type,
    payload: staged.payload,
    ...eventKey(key),
    aggregateId,
    occurredAt: on.occurredAt,
    headers: staged.headers,
  };
  return { shard, key, event };
}

interface Aggregate extends Pick<EntityPlace, 'shard' | 'key'> {
  readonly aggregateId: string;
}

async function aggregateOf({ of, key, type }: StagedEvent, on: PlacingEvent): Promise<Aggregate> {
  if (key !== undefined) return ofKey(key, on.shards);
  const [only, ...others] = on.placed;
  const lone = only && others.length === 0 ? only : undefined;
  const staged = of === undefined ? lone : on.placed.find(({ change }) => change.entity === of);
  const place = staged?.place ?? (of && (await on.places.of(of, { row: 'stored', key: on.key })));
  if (place) {
    const { metadata, shard } = place;
    const id = rowId({ entity: staged?.change.entity ?? of ?? {}, metadata });
    if (id !== undefined) return { shard, key: place.key, aggregateId: id };
    if (place.key !== undefined) return { shard, key: place.key, aggregateId: String(place.key) };
  } else if (on.key !== undefined) {
    return ofKey(on.key, on.shards);
  }
  throw new ShardingError(
    'no_placement',
    `nothing says where the event "${type}" belongs: emit it with { of: entity } of an entity that has its id, or { key }`,
  );
}

async function ofKey(key: RoutingKey, shards: Shards): Promise<Aggregate> {
  return { shard: await shards.shardFor(key), key, aggregateId: String(key) };
}
