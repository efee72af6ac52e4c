import { clientConfig } from '../database-url.js';
import { MAX_TIMER_MS } from './work-scope.js';
import type { DatabaseSettings, TypeOrmSettings } from '../sharding.settings.js';

/** Query parameters of a URL that reach the connection; others, such as `max`, would bypass the limits. */
const URL_PARAMETERS = new Set([
  'application_name',
  'client_encoding',
  'fallback_application_name',
  'options',
]);

/** How much longer than the server this side waits for a statement: a server that is well ends it first. */
const ANSWER_GRACE_MS = 5000;

/** How long this side waits for a statement, 0 without a bound; at most what a timer of Node can do. */
export function answerLimit(statementTimeoutMs: number): number {
  return statementTimeoutMs === 0 ? 0 : Math.min(statementTimeoutMs + ANSWER_GRACE_MS, MAX_TIMER_MS);
}

/** What a connection sends when it starts, and what the driver is told beside the address. Limits are always set. */
export function connectionExtra(
  settings: DatabaseSettings,
  { extra }: Pick<TypeOrmSettings['options'], 'extra'>,
): Record<string, unknown> {
  const given = Object.entries(clientConfig(settings.url));
  const fromUrl = Object.fromEntries(given.filter(([key]) => URL_PARAMETERS.has(key)));
  return {
    keepAlive: true,
    ...fromUrl, // the user's own words: a pooler that does not take them says so
    ...limits(settings, fromUrl['options']),
    ...(extra as object | undefined),
  };
}

/** A transaction-mode pooler takes no startup parameters: there the server's limits are set in each transaction. */
function limits(settings: DatabaseSettings, options: unknown): Record<string, unknown> {
  const { statementTimeoutMs, idleInTransactionTimeoutMs, pooler, role } = settings;
  const query_timeout = answerLimit(statementTimeoutMs);
  return {
    ...(statementTimeoutMs > 0 && { query_timeout }),
    ...(pooler === 'none' && {
      ...(statementTimeoutMs > 0 && { statement_timeout: statementTimeoutMs }),
      ...(idleInTransactionTimeoutMs > 0 && {
        idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
      }),
      ...(role === 'replica' && {
        options: [options, '-c default_transaction_read_only=on'].filter(Boolean).join(' '), // also once it is promoted
      }),
    }),
  };
}
