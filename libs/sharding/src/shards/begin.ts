import { ShardingError } from '@app/routing';
import type { Database } from './database.js';

export const ISOLATION_LEVELS = ['READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE'] as const;

/** What the first words of a transaction say. */
export interface BeginOptions {
  readonly isolation?: (typeof ISOLATION_LEVELS)[number];
  readonly readOnly?: boolean;
  /** The server ends a statement of this transaction after so long, whatever is configured; 0: no bound. */
  readonly statementTimeoutMs?: number;
}

/**
 * The SQL that begins a transaction, in one message. A READ ONLY one reads something at once: from its first snapshot on
 * the server lets nobody make it writable again. Behind a transaction-mode pooler the limits are set here, because
 * nothing that outlives the transaction is this session's own; SET LOCAL is `set_config(..., true)` without a snapshot,
 * after which TypeORM could not set the isolation level any more.
 *
 * @throws ShardingError `invalid_options`
 */
export function beginSql(options: BeginOptions, database: BeginDatabase): string {
  const { isolation, readOnly } = options;
  if (isolation !== undefined && !ISOLATION_LEVELS.includes(isolation)) {
    throw new ShardingError('invalid_options', `isolation is one of ${ISOLATION_LEVELS.join(', ')}`);
  }
  const modes = [
    ...(isolation === undefined ? [] : [`isolation level ${isolation.toLowerCase()}`]),
    ...(readOnly ? ['read only'] : []),
  ];
  const begin = ['start transaction', modes.join(', ')].filter(Boolean).join(' ');
  const limits = limitsOf(options, database).map(([name, ms]) => `set local ${name} = ${ms}`);
  return [begin, ...limits, ...(readOnly ? ['select 1'] : [])].join('; ');
}

/** What of a {@link Database} decides how a transaction begins. */
type BeginDatabase = Pick<Database, 'pooler' | 'statementTimeoutMs' | 'idleInTransactionTimeoutMs'>;

function limitsOf({ statementTimeoutMs }: BeginOptions, database: BeginDatabase): [string, number][] {
  if (
    statementTimeoutMs !== undefined &&
    !(Number.isInteger(statementTimeoutMs) && statementTimeoutMs >= 0)
  ) {
    throw new ShardingError(
      'invalid_options',
      'statementTimeoutMs is a whole number of milliseconds, 0 for no bound',
    );
  }
  const limits: [string, number][] = [];
  const configured = database.pooler === 'transaction';
  if (statementTimeoutMs !== undefined) limits.push(['statement_timeout', statementTimeoutMs]);
  else if (configured) limits.push(...set('statement_timeout', database.statementTimeoutMs));
  if (configured) {
    limits.push(...set('idle_in_transaction_session_timeout', database.idleInTransactionTimeoutMs));
  }
  return limits;
}

/** Where nothing is configured the server's own setting stays. */
function set(name: string, configuredMs: number): [string, number][] {
  return configuredMs > 0 ? [[name, configuredMs]] : [];
}
