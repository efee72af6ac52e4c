import { withClient } from '../../support/admin-query.js';
import { deployed, type Deployed } from './deployed.js';
import type { Shardctl } from '../../support/shardctl.js';

/** Statements for all shards, and for shards by their number. */
export interface Drift {
  readonly everywhere?: readonly string[];
  readonly on?: Readonly<Record<number, readonly string[]>>;
}

/** Before a statement that fails and leaves something behind. */
const FAILS = '/* fails */';

/** Three shards that have drifted apart. */
export async function drifted({ everywhere = [], on = {} }: Drift): Promise<Deployed> {
  const place = await deployed(3);
  for (const [index, url] of place.shards.entries()) {
    await withClient(url, async (client) => {
      for (const statement of [...everywhere, ...(on[index] ?? [])]) {
        await client.query(statement).catch((error: unknown) => {
          if (!statement.startsWith(FAILS)) throw error;
        });
      }
    });
  }
  return place;
}

/** What both forms of the verb say. */
export async function diff(shardctl: Shardctl, toml: string, args: readonly string[] = []) {
  const text = await shardctl.run(['schema', 'diff', ...args], { toml });
  const { code, out, err } = await shardctl.run(['schema', 'diff', '--json', ...args], { toml });
  return { text, json: { code, out: JSON.parse(out) as unknown, err } };
}

/** The line, kind and name of the object, the property with its odd and its usual value, and where it is odd. */
export type Odd = readonly [
  line: string,
  kind: string,
  name: string,
  property: readonly [string, unknown, unknown],
  shard?: string,
];

const SHARDS = ['shard0', 'shard1', 'shard2'];

/** Everything that {@link diff} says of three shards, of which each difference concerns one. */
export function found(differences: readonly Odd[]) {
  const count = `${differences.length} difference${differences.length === 1 ? '' : 's'}`;
  const lines = [`3 shards compared, ${count}`, ...differences.map(([line]) => line)];
  return {
    text: { code: 1, out: `${lines.join('\n')}\n`, err: '' },
    json: {
      code: 1,
      out: { shards: SHARDS, failed: [], differences: differences.map(differenceOf) },
      err: '',
    },
  };
}

function differenceOf([, kind, name, [property, value, usual], shard = 'shard1']: Odd) {
  const majority = { value: usual, shards: SHARDS.filter((other) => other !== shard) };
  return { kind, name, property, majority, odd: [{ value, shards: [shard] }] };
}
