import { ShardingError } from '@app/routing';

/** How far an audit is: behind a key of a table, before the first table (`''`), or behind the whole shard (`null`). */
export interface AuditPosition {
  /** `''`: before the first shard. */
  readonly shard: string;
  readonly table: string | null;
  readonly key: string | null;
}

/** Nothing was looked at. */
export const START: AuditPosition = { shard: '', table: null, key: null };
/** The moves of control were looked at. */
export const BEFORE_SHARDS: AuditPosition = { shard: '', table: '', key: null };

export function isStart({ shard, table }: AuditPosition): boolean {
  return shard === '' && table === null;
}

export function writeCursor({ shard, table, key }: AuditPosition): string {
  return Buffer.from(JSON.stringify([shard, table, key])).toString('base64url');
}

/** @throws ShardingError `invalid_cursor` */
export function readCursor(cursor: string, shards: readonly string[]): AuditPosition {
  const parts = parsed(cursor);
  const [shard, table, key, ...more] = Array.isArray(parts) ? (parts as unknown[]) : [];
  if (typeof shard !== 'string' || !isName(table) || !isName(key) || more.length > 0) {
    throw invalid('it is no cursor of an audit');
  }
  if (shard !== '' && !shards.includes(shard)) {
    throw invalid(`it stands at ${JSON.stringify(shard)}, which is not looked at`);
  }
  return { shard, table, key };
}

function parsed(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return undefined;
  }
}

const isName = (value: unknown): value is string | null => value === null || typeof value === 'string';

function invalid(why: string): ShardingError {
  return new ShardingError(
    'invalid_cursor',
    `${why}: give the cursor that the audit printed, with the same shards`,
  );
}
