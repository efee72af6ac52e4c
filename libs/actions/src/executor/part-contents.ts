import { eventKey } from '../outbox/event-key.js';
import type { RoutingKey } from '@app/routing';
import type { Shard } from '@app/sharding';
import type { PartContent } from '../cross/part-content.js';
import type { LedgerPlace } from '../ledger/idempotency.js';
import type { PlacedChange, PlacedPlan } from '../plan/placed-plan.js';

/** One shard's part, ready to be written. */
export interface ReadyPart {
  readonly shard: Shard;
  readonly content: PartContent;
  readonly changes: readonly PlacedChange[];
  readonly keys: readonly RoutingKey[];
}

/** What was executed, for the ledger. */
export interface Outcome {
  readonly action: string;
  readonly runId: string;
  readonly result: unknown;
}

/**
 * What each shard is to write. With an idempotency key its home has a part, which comes first: the row of the ledger there
 * decides whose execution it is.
 */
export function readyParts(
  { parts }: PlacedPlan,
  place: LedgerPlace | undefined,
  { action, runId, result }: Outcome,
): ReadyPart[] {
  const ready = parts.map(({ shard, changes, events, keys }): ReadyPart => {
    const [key, ...others] = keys;
    const rows = changes.map(({ operation }) => operation);
    return {
      shard,
      changes,
      keys,
      content: { rows, events, ...eventKey(others.length > 0 ? undefined : key) },
    };
  });
  if (!place) return ready;
  const { actionId, home, routingKey, paramsHash } = place;
  const others = ready.filter(({ shard }) => shard !== home);
  const own = ready.find(({ shard }) => shard === home);
  const value = result === undefined ? {} : { value: result };
  const runParts = others.length + 1;
  const ledger = { actionId, action, routingKey, paramsHash, runId, runParts, result: value };
  const empty = { shard: home, changes: [], keys: [], content: { rows: [], events: [] } };
  const first = own ?? empty;
  return [{ ...first, content: { ...first.content, ledger } }, ...others];
}
