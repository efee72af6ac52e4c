import { routingKeyProblem, ShardedUuid, SlotUuid } from '@app/routing';
import { UsageError } from './verb.js';
import type { AskedKey } from './placement.js';

export type KeyForm = 'text' | 'integer' | 'uuid';

/** What the operator wrote, as keys of one form. @throws UsageError naming the first that is none */
export function askedKeys(texts: readonly string[], form: KeyForm): AskedKey[] {
  return texts.map((text) => {
    if (form === 'integer') return integerKey(text);
    if (form === 'uuid') return idKey(text);
    const problem = routingKeyProblem(text);
    if (problem !== undefined) throw new UsageError(problem);
    return { text, kind: 'text', value: text };
  });
}

function integerKey(text: string): AskedKey {
  if (!/^-?\d+$/.test(text)) throw new UsageError(`--int takes whole numbers, not ${JSON.stringify(text)}`);
  const big = BigInt(text);
  const problem = routingKeyProblem(big);
  if (problem !== undefined) throw new UsageError(problem);
  return { text: String(big), kind: 'integer', value: big };
}

/** Version 7 names its shard, version 8 its slot. */
function idKey(text: string): AskedKey {
  const sharded = parsed(ShardedUuid, text);
  if (sharded !== undefined) return { text: sharded, kind: 'sharded_uuid', value: sharded };
  const slot = parsed(SlotUuid, text);
  if (slot !== undefined) return { text: slot, kind: 'slot_uuid', value: slot };
  throw new UsageError(
    `--uuid takes ids that route themselves, a ShardedUuid (version 7) or a SlotUuid (version 8), not ${JSON.stringify(text)}; without --uuid a UUID is a routing key like any other text`,
  );
}

function parsed(ids: { parse(text: string): string }, text: string): string | undefined {
  try {
    return ids.parse(text);
  } catch {
    return undefined;
  }
}
