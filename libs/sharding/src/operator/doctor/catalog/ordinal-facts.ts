import { hasTable } from './has-table.js';
import type { Read } from '../look.js';

/** Which generated ids a shard may use: `ordinal + 1` modulo `stride`. */
export interface OrdinalFacts {
  readonly shard: string;
  readonly ordinal: number;
  readonly stride: number;
}

/** On the control database those of all shards; without one each shard has its own. */
export const ordinalFacts: Read<OrdinalFacts[]> = async (client) => {
  if (!(await hasTable(client, '_sharding_identities'))) return [];
  const { rows } = await client.query<OrdinalFacts>(
    'select shard_name as shard, ordinal, stride from _sharding_identities order by shard_name',
  );
  return rows;
};
