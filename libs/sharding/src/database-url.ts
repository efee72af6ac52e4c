import { parse, toClientConfig } from 'pg-connection-string';
import type { ClientConfig } from 'pg';
import type { Secret } from './secret.js';

/** Connection facts of a URL; `password` is a function, so that printing the object never shows it. */
export function clientConfig(url: Secret): ClientConfig {
  const { password, ...config } = toClientConfig(parse(url.reveal()));
  return typeof password === 'string' && password !== '' ? { ...config, password: () => password } : config;
}

/**
 * What tells two databases apart: host, port and name. The names of the loopback interface count as one host.
 *
 * @throws TypeError when the text is not a URL; its message does not contain the text
 */
export function databaseIdentity(url: Secret): string {
  let config: ClientConfig;
  try {
    config = clientConfig(url);
  } catch {
    throw new TypeError('cannot be parsed as a PostgreSQL URL');
  }
  const host = (config.host || 'localhost').toLowerCase().replace(/\.$/, '');
  return `${LOOPBACK.test(host) ? 'localhost' : host}:${config.port ?? 5432}/${config.database || config.user || ''}`;
}

/** Names and addresses by which a server on this machine is reached. */
const LOOPBACK = /^(localhost|127(\.\d+){1,3}|0\.0\.0\.0|::|::1|::ffff:7f[\da-f]{2}:[\da-f]{1,4})$/;
