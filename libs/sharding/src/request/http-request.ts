import type { IncomingMessage } from 'node:http';

/** The Node request below an Express request (itself) or a Fastify request (`raw`). */
export function rawRequest(request: object): IncomingMessage {
  return ((request as { raw?: object }).raw ?? request) as IncomingMessage;
}

/** All values of a header, as many as the client sent; bytes are in Latin-1, as Node gives them. */
export function headerValues(request: object, name: string): readonly string[] {
  return rawRequest(request).headersDistinct?.[name] ?? [];
}

/** The path without query, as sent; also when a router has rewritten `url`. */
export function pathOf(request: object): string {
  const { originalUrl, url = '/' } = request as { originalUrl?: string; url?: string };
  return (originalUrl ?? url).replace(/[?#].*$/s, '');
}
