import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import pg from 'pg';

/** Who gets what a server connection says while it is lent out. */
export interface Borrower {
  /** One message of the server, whole. */
  receive(message: Buffer): void;
  /** The server connection is gone. */
  lost(): void;
}

/** What is used of a `pg` client, which logs in for us. */
interface Internals {
  readonly connection: NodeJS.EventEmitter & { readonly stream: Socket };
  readonly processID: number;
  readonly secretKey: number;
}

const CANCEL_REQUEST_CODE = 80_877_102;
const READY = 'Z'.charCodeAt(0);

/** One connection of a pooler to a server: `pg` logs in, then messages pass as they are. */
export class PooledServer {
  readonly pid: number;
  /** `ParameterStatus` messages of the login. */
  readonly parameters: readonly (readonly [name: string, value: string])[];
  borrower: Borrower | undefined;
  /** Resolves when no cancel is on its way to this connection. */
  cancelled: Promise<unknown> = Promise.resolve();
  readonly #stream: Socket;
  readonly #key: { readonly port: number; readonly secret: number };
  readonly #frames = new Frames();

  private constructor(client: Internals, port: number, parameters: [string, string][]) {
    this.pid = client.processID;
    this.parameters = parameters;
    this.#key = { port, secret: client.secretKey };
    this.#stream = client.connection.stream;
    for (const event of ['data', 'end', 'close', 'error']) this.#stream.removeAllListeners(event);
    this.#stream.on('data', (chunk: Buffer) => {
      for (const frame of this.#frames.push(chunk)) this.borrower?.receive(frame);
    });
    this.#stream.on('error', () => undefined);
    this.#stream.on('close', () => this.borrower?.lost());
    this.#stream.resume();
  }

  /** @throws what the server says to the login */
  static async open(url: string): Promise<PooledServer> {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
    client.on('error', () => undefined);
    const internals = client as unknown as Internals;
    const parameters: [string, string][] = [];
    internals.connection.on('parameterStatus', (message: { parameterName: string; parameterValue: string }) =>
      parameters.push([message.parameterName, message.parameterValue]),
    );
    await client.connect();
    return new PooledServer(internals, Number(new URL(url).port), parameters);
  }

  get isOpen(): boolean {
    return !this.#stream.destroyed && this.#stream.writable;
  }

  send(message: Buffer): void {
    this.#stream.write(message);
  }

  /** Cancels what runs on this connection now. */
  cancel(): Promise<unknown> {
    const socket = connect(this.#key.port, '127.0.0.1');
    const request = int32s(16, CANCEL_REQUEST_CODE, this.pid, this.#key.secret);
    socket.on('error', () => undefined);
    socket.on('connect', () => socket.write(request));
    socket.resume();
    this.cancelled = Promise.all([this.cancelled, once(socket, 'close')]);
    return this.cancelled;
  }

  close(): void {
    this.#stream.destroy();
  }
}

/** The transaction status of a `ReadyForQuery`; undefined for every other message. */
export function readyStatus(message: Buffer): string | undefined {
  return message[0] === READY ? String.fromCharCode(message[5] ?? 0) : undefined;
}

/** A message of the protocol. */
export function message(type: string, ...parts: (string | Buffer)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(`${part}\0`) : part)),
  );
  return Buffer.concat([Buffer.from(type), int32s(body.length + 4), body]);
}

export function int32s(...values: number[]): Buffer {
  const buffer = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) buffer.writeInt32BE(value, 4 * index);
  return buffer;
}

/** Cuts a stream into whole messages. */
export class Frames {
  #rest: Buffer = Buffer.alloc(0);
  /** The first message of a client has no type byte. */
  #typeBytes: 0 | 1;

  constructor(from: 'client' | 'server' = 'server') {
    this.#typeBytes = from === 'client' ? 0 : 1;
  }

  push(chunk: Buffer): Buffer[] {
    const frames: Buffer[] = [];
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= this.#typeBytes + 4) {
      const length = this.#typeBytes + this.#rest.readInt32BE(this.#typeBytes);
      if (this.#rest.length < length) break;
      frames.push(this.#rest.subarray(0, length));
      this.#rest = this.#rest.subarray(length);
      if (!isEncryptionRequest(frames.at(-1)!)) this.#typeBytes = 1;
    }
    return frames;
  }
}

/** SSLRequest and GSSENCRequest: a start-up message follows. */
export function isEncryptionRequest(frame: Buffer): boolean {
  return frame.length === 8 && [80_877_103, 80_877_104].includes(frame.readInt32BE(4));
}
