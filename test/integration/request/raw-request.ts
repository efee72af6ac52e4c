import { connect } from 'node:net';

/** What a server answered, and the body as JSON where it is JSON. */
export interface RawAnswer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * Sends a request byte by byte as written, on a connection of its own: for what no HTTP client would send.
 *
 * @param lines the request line and the headers; texts are sent as UTF-8
 */
export async function sendRaw(
  baseUrl: string,
  lines: readonly (string | Buffer)[],
  body = '',
): Promise<RawAnswer> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect({ host: hostname, port: Number(port) });
  socket.setTimeout(10_000, () => socket.destroy(new Error('no answer within 10 s')));
  for (const line of [...lines, 'Connection: close', '']) {
    socket.write(Buffer.concat([Buffer.from(line as string), Buffer.from('\r\n')]));
  }
  socket.write(body);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return parsed(Buffer.concat(chunks).toString());
}

function parsed(answer: string): RawAnswer {
  const [head = '', ...rest] = answer.split('\r\n\r\n');
  const text = rest.join('\r\n\r\n');
  const chunked = /^transfer-encoding: chunked/im.test(head);
  const body = chunked ? text.replace(/[\da-f]+\r\n/gi, '').replaceAll('\r\n', '') : text;
  return { status: Number(/^HTTP\/1\.\d (\d+)/.exec(head)?.[1]), body: json(body) };
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
