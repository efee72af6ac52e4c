import { databaseIdentity } from '../database-url.js';
import { Secret } from '../secret.js';
import { keyAs } from './key-style.js';
import type { ShardOptions } from '../shard.options.js';
import type { DatabaseOptions } from '../sharding.options.js';
import type { KeyStyle } from './key-style.js';

/** Rules over the databases together: one at least, and no two that are the same. */
export function databaseProblems(
  database: DatabaseOptions,
  shards: readonly Partial<ShardOptions>[],
  style: KeyStyle,
): string[] {
  const as = (key: string) => keyAs(style, key);
  const { primaryUrl, url } = database;
  const problems: string[] = [];
  if (typeof primaryUrl === 'string' && typeof url === 'string' && primaryUrl !== url) {
    problems.push(
      `database.url: differs from database.${as('primaryUrl')}; both name the control database, set one`,
    );
  }
  if ((primaryUrl ?? url) === undefined && shards.length === 0) {
    problems.push(`database.${as('primaryUrl')}: no database is configured; set it, or declare shards`);
  }
  if (database.replicaUrl !== undefined && (primaryUrl ?? url) === undefined) {
    problems.push(`database.${as('replicaUrl')}: needs a control database; set database.${as('primaryUrl')}`);
  }
  return [
    ...problems,
    ...shards.flatMap((shard, index) => (shard.name === 'control' ? [reservedName(index)] : [])),
    ...secretProblems(database, as),
    ...directoryProblems(database, as),
    ...slotMapProblems(database, as),
    ...urlProblems(database, shards, as),
  ];
}

function reservedName(index: number): string {
  return `database.shards[${index}].name: "control" is the name of the control database in logs, health and metrics`;
}

/** The shortest key of an HMAC-SHA256 that is worth the name. */
const SECRET_BYTES = 32;

function secretProblems(database: DatabaseOptions, as: (key: string) => string): string[] {
  const short = (['sessionSecret', 'cursorSecret', 'moveCertificateSecret'] as const).filter((key) => {
    const secret: unknown = database[key];
    return typeof secret === 'string' && Buffer.byteLength(secret) < SECRET_BYTES;
  });
  const problems = short.map((key) => `database.${as(key)}: must have at least ${SECRET_BYTES} bytes`);
  if (database.readYourWrites === 'session' && database.sessionSecret === undefined) {
    const mode = `${as('readYourWrites')} = "session"`;
    problems.push(`database.${as('sessionSecret')}: is needed with ${mode}; it signs the tokens`);
  }
  return problems;
}

function directoryProblems(database: DatabaseOptions, as: (key: string) => string): string[] {
  if (database.directoryShardRouter !== true) return [];
  const key = `database.${as('directoryShardRouter')}`;
  const problems: string[] = [];
  if ((database.primaryUrl ?? database.url) === undefined) {
    problems.push(`${key}: needs a control database; set database.${as('primaryUrl')}`);
  } else if ((database.primaryPoolSize ?? database.poolSize ?? 2) < 2) {
    problems.push(
      `${key}: needs a control database pool of at least 2 connections; raise database.${as('primaryPoolSize')}`,
    );
  }
  if (database.pooler === 'transaction' && database.maintenanceUrl === undefined) {
    const way = `set database.${as('maintenanceUrl')}, a direct connection`;
    problems.push(`${key}: listens for changes, which a transaction-mode pooler does not pass on; ${way}`);
  }
  return problems;
}

function slotMapProblems(database: DatabaseOptions, as: (key: string) => string): string[] {
  if (database.slotMapGuard !== 'strict' || (database.primaryUrl ?? database.url) !== undefined) return [];
  const remembers = 'needs a control database, which remembers the slot map';
  return [
    `database.${as('slotMapGuard')}: "strict" ${remembers}; set database.${as('primaryUrl')}, or choose "warn"`,
  ];
}

/** A URL of the configuration. The maintenance URL of a database leads to the same database by another way. */
interface PlacedUrl {
  readonly key: string;
  readonly owner: object;
  readonly kind: 'database' | 'maintenance';
  readonly url: unknown;
}

/** URLs that cannot be parsed, and two that lead to one database. */
function urlProblems(
  database: DatabaseOptions,
  shards: readonly Partial<ShardOptions>[],
  as: (key: string) => string,
): string[] {
  const seen = new Map<string, PlacedUrl>();
  return placedUrls(database, shards, as).flatMap((placed) => {
    const { key, url } = placed;
    if (typeof url !== 'string' || !/^postgres(ql)?:\/\//i.test(url)) return []; // the check of the shape says so
    let identity: string;
    try {
      identity = databaseIdentity(new Secret(url));
    } catch (error) {
      return [`${key}: ${(error as Error).message}`];
    }
    const first = seen.get(identity);
    if (first === undefined) seen.set(identity, placed);
    if (first === undefined || leadsToTheSame(first, placed)) return [];
    return [`${key}: is the same database as ${first.key}`];
  });
}

function leadsToTheSame(a: PlacedUrl, b: PlacedUrl): boolean {
  return a.owner === b.owner && (a.kind === 'maintenance' || b.kind === 'maintenance');
}

/** Databases first, so that a maintenance URL is compared with all of them. */
function placedUrls(
  database: DatabaseOptions,
  shards: readonly Partial<ShardOptions>[],
  as: (key: string) => string,
): PlacedUrl[] {
  const control = database.primaryUrl === undefined ? 'url' : 'primaryUrl';
  const urls = (kind: PlacedUrl['kind'], ofControl: string, ...ofShards: (keyof ShardOptions)[]) => [
    { kind, owner: database, key: `database.${as(ofControl)}`, url: database[ofControl as 'url'] as unknown },
    ...shards.flatMap((shard, index) =>
      ofShards.map((key) => ({
        kind,
        owner: shard,
        key: `database.shards[${index}].${as(key)}`,
        url: shard[key],
      })),
    ),
  ];
  const controlReplica = { kind: 'database', owner: database, key: `database.${as('replicaUrl')}` } as const;
  return [
    ...urls('database', control, 'primaryUrl', 'replicaUrl'),
    { ...controlReplica, url: database.replicaUrl },
    ...urls('maintenance', 'maintenanceUrl', 'maintenanceUrl'),
  ];
}
