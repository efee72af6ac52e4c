import { databaseIdentity } from '../database-url.js';
import { Secret } from '../secret.js';
import { keyAs } from './key-style.js';
import type { DatabaseOptions, ShardOptions } from '../sharding.options.js';
import type { KeyStyle } from './key-style.js';

/** Rules over the databases together: one at least, and no two that are the same. */
export function databaseProblems(
  database: DatabaseOptions,
  shards: readonly ShardOptions[],
  style: KeyStyle,
): string[] {
  const as = (key: string) => keyAs(style, key);
  const { primaryUrl, url } = database;
  const problems: string[] = [];
  if (primaryUrl !== undefined && url !== undefined && primaryUrl !== url) {
    problems.push(
      `database.url: differs from database.${as('primaryUrl')}; both name the control database, set one`,
    );
  }
  if (primaryUrl === undefined && url === undefined && shards.length === 0) {
    problems.push(`database.${as('primaryUrl')}: no database is configured; set it, or declare shards`);
  }
  return [...problems, ...directoryProblems(database, as), ...sharedDatabases(database, shards, as)];
}

function directoryProblems(database: DatabaseOptions, as: (key: string) => string): string[] {
  if (database.directoryShardRouter !== true) return [];
  const key = `database.${as('directoryShardRouter')}`;
  const problems = [`${key}: this version has no directory router; pin tenants with a router of your own`];
  if (database.primaryUrl === undefined && database.url === undefined) {
    problems.push(`${key}: needs a control database; set database.${as('primaryUrl')}`);
  } else if ((database.primaryPoolSize ?? database.poolSize ?? 2) < 2) {
    problems.push(
      `${key}: needs a control database pool of at least 2 connections; raise database.${as('primaryPoolSize')}`,
    );
  }
  return problems;
}

function sharedDatabases(
  database: DatabaseOptions,
  shards: readonly ShardOptions[],
  as: (key: string) => string,
): string[] {
  const owners = new Map<string, string>();
  const control = database.primaryUrl ?? database.url;
  const urls: [string, unknown][] = [
    [`database.${as('primaryUrl')}`, control],
    ...shards.flatMap((shard, index): [string, unknown][] => [
      [`database.shards[${index}].${as('primaryUrl')}`, shard.primaryUrl],
      [`database.shards[${index}].${as('replicaUrl')}`, shard.replicaUrl],
    ]),
  ];
  return urls.flatMap(([key, url]) => {
    if (typeof url !== 'string' || !/^postgres(ql)?:\/\//i.test(url)) return [];
    let identity: string;
    try {
      identity = databaseIdentity(new Secret(url));
    } catch (error) {
      return [`${key}: ${(error as Error).message}`];
    }
    const owner = owners.get(identity);
    owners.set(identity, owner ?? key);
    return owner === undefined ? [] : [`${key}: is the same database as ${owner}`];
  });
}
