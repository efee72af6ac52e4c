import { freshDatabases, type FreshDatabases } from '../../support/fresh-databases.js';

/** Fresh databases and the `sharding.toml` that describes them. */
export interface Deployed extends FreshDatabases {
  readonly toml: string;
}

/** @param database further lines of `[database]` */
export async function deployed(shards = 2, database = ''): Promise<Deployed> {
  const made = await freshDatabases(shards);
  return { ...made, toml: tomlOf({ control: made.control, shards: made.shards }, database) };
}

/** Shards `shard0`, `shard1` ... with the auto-split. */
export function tomlOf(
  { control, shards }: { readonly control?: string; readonly shards: readonly string[] },
  database = '',
): string {
  return [
    '[database]',
    ...(control === undefined ? [] : [`primary_url = "${control}"`]),
    database,
    ...shards.map((url, index) => `[[database.shards]]\nname = "shard${index}"\nprimary_url = "${url}"`),
    '[tenancy]\nsource = "header"',
  ].join('\n');
}

/** Two shards that nobody listens for: for verbs that ask no database. */
export const OFFLINE = tomlOf({
  control: 'postgres://app:hush-control@127.0.0.1:1/control',
  shards: ['postgres://app:hush-0@127.0.0.1:1/shard0', 'postgres://app:hush-1@127.0.0.1:1/shard1'],
});

/** A shard of another group, to be put before `[tenancy]`. */
export const GROUPS = `[[database.shards]]
name = "eu0"
primary_url = "postgres://app@127.0.0.1:1/eu0"
group = 1
`;
