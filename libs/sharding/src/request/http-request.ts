import type { IncomingMessage } from 'node:http';

/** The Node request below an Express request (itself) or a Fastify request (`raw`). */
export function rawRequest(request: object): IncomingMessage {
  const { raw } = request as { raw?: unknown };
  const below = typeof raw === 'object' && raw !== null && 'headers' in raw;
  return (below ? raw : request) as IncomingMessage;
}

/**
 * All values of a header, as many as the client sent; bytes are in Latin-1, as Node gives them. Read from the raw list:
 * `headers` joins or drops repeated values, and `headersDistinct` exists neither in HTTP/2 nor in injected requests.
 *
 * @param name in lower case
 */
export function headerValues(request: object, name: string): readonly string[] {
  const { rawHeaders = [] } = rawRequest(request) as Partial<IncomingMessage>;
  return rawHeaders.filter(
    (_value, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name,
  );
}

/** The path without query, as sent; also when a router has rewritten `url`. */
export function pathOf(request: object): string {
  const { originalUrl, url = '/' } = request as { originalUrl?: string; url?: string };
  return (originalUrl ?? url).replace(/[?#].*$/s, '');
}
