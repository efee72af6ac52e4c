import { once } from 'node:events';
import { createServer } from 'node:net';

const FIRST_PORT = 15_000;
const PORT_COUNT = 17_000;
const ATTEMPTS = 100;

/**
 * A TCP port of 127.0.0.1 that nobody listens on now. It lies below the range from which Linux and macOS give out
 * ports to clients: a server that is stopped for a while gets its port back, since no client connection can take it.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORT_COUNT);
    if (await isFree(port)) return port;
  }
  throw new Error(`found no free port in ${ATTEMPTS} attempts`);
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  server.listen({ host: '127.0.0.1', port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch {
    return false;
  }
  server.close();
  await once(server, 'close');
  return true;
}
