import { routingKeyProblem } from '@app/routing';
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

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Version 7 names its shard, version 8 its slot. */
function idKey(written: string): AskedKey {
  const text = written.toLowerCase();
  const version = UUID.exec(text)?.[1];
  const slotUuid = version === '8' && text.charAt(17) === '0';
  if (version !== '7' && !slotUuid) {
    throw new UsageError(
      `--uuid takes ids that route themselves, a ShardedUuid (version 7) or a SlotUuid (version 8), not ${JSON.stringify(written)}; without --uuid a UUID is a routing key like any other text`,
    );
  }
  return { text, kind: slotUuid ? 'slot_uuid' : 'sharded_uuid', value: text };
}
