import { quoted } from './quoted.js';
import type { KeyKind } from './move-request.js';

const INT64 = { from: '-9223372036854775808', to: '9223372036854775807' } as const;

/**
 * The slot of a key in SQL, as the application hashes it; null without a key. Where keys are integers, those that stand in a text,
 * as in the tables of the framework, are hashed as integers, and other texts as what they are.
 *
 * @param value in SQL
 * @param type of the value, as the catalog calls it
 */
export function slotExpression(
  schema: string,
  value: string,
  { type, keyKind }: { readonly type: string; readonly keyKind: KeyKind },
): string {
  const slot = (cast: string) => `${quoted(schema)}._sharding_slot(${cast})`;
  if (keyKind === 'text') return slot(`${value}::text`);
  if (type !== 'text') return slot(`${value}::bigint`);
  const text = slot(value);
  return `case when ${value} !~ '^(0|-?[1-9][0-9]{0,18})$' then ${text}
    when ${value}::numeric between ${INT64.from} and ${INT64.to} then ${slot(`${value}::bigint`)} else ${text} end`;
}
