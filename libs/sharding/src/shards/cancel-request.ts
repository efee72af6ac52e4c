import { connect } from 'node:net';
import type { ClientConfig } from 'pg';

/** What names a running session to its server; secret, like a password. */
export interface BackendKey {
  readonly processID: number;
  readonly secretKey: number;
}

const CANCEL_REQUEST_CODE = 80_877_102;

/**
 * Asks to cancel the running statement of a session by the protocol's CancelRequest, which a pooler passes on to the
 * server that works for the session. PostgreSQL answers nothing; the connection is closed either way.
 *
 * @throws the system's error, or `timeout expired`
 */
export function sendCancelRequest(config: ClientConfig, key: BackendKey, limitMs: number): Promise<void> {
  const { host = 'localhost', port = 5432 } = config;
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  return new Promise<void>((resolve, reject) => {
    socket.setTimeout(limitMs, () => socket.destroy(new Error('timeout expired')));
    socket.on('error', reject);
    socket.on('close', () => resolve());
    socket.on('connect', () => socket.write(packet(key))); // no end: a pooler forgets who has left
    socket.resume();
  });
}

function packet({ processID, secretKey }: BackendKey): Buffer {
  const buffer = Buffer.alloc(16);
  buffer.writeInt32BE(16, 0);
  buffer.writeInt32BE(CANCEL_REQUEST_CODE, 4);
  buffer.writeInt32BE(processID, 8);
  buffer.writeInt32BE(secretKey, 12);
  return buffer;
}
