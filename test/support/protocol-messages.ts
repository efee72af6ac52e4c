/** One message of the PostgreSQL protocol that a chunk of the stream has completed. */
export interface ProtocolMessage {
  /** The type byte; empty for the start-up message (and the cancel request), which has none. */
  readonly type: string;
  /** What follows the length; empty for types whose bodies nobody wants. */
  readonly body: Buffer;
  /** Where in the chunk the message begins; 0 for one that began in an earlier chunk. */
  readonly start: number;
}

const LENGTH_BYTES = 4;

/**
 * Finds the messages in one direction of a connection. Knows no TLS: a client that asks for it is refused by a server
 * of ours with a single byte, which this would not understand.
 */
export class MessageScanner {
  readonly #wanted: string;
  /** Bytes of a type byte before the length: none in the first message of a client. */
  #typeBytes: 0 | 1;
  #header: number[] = [];
  #missing = 0;
  #parts: Buffer[] = [];

  /** @param wanted the types whose bodies are kept */
  constructor(from: 'client' | 'server', wanted = '') {
    this.#typeBytes = from === 'client' ? 0 : 1;
    this.#wanted = wanted;
  }

  push(chunk: Buffer): ProtocolMessage[] {
    const found: ProtocolMessage[] = [];
    let start = 0;
    let at = 0;
    while (at < chunk.length) {
      if (!this.#inBody()) {
        this.#header.push(chunk[at++]!);
        if (this.#inBody()) this.#missing = this.#bodyLength();
      } else {
        const end = Math.min(chunk.length, at + this.#missing);
        if (this.#wanted.includes(this.#type())) this.#parts.push(chunk.subarray(at, end));
        this.#missing -= end - at;
        at = end;
      }
      if (!this.#inBody() || this.#missing > 0) continue;
      found.push({ type: this.#type(), body: Buffer.concat(this.#parts), start });
      this.#next();
      start = at;
    }
    return found;
  }

  #inBody(): boolean {
    return this.#header.length === this.#typeBytes + LENGTH_BYTES;
  }

  #type(): string {
    return String.fromCharCode(...this.#header.slice(0, this.#typeBytes));
  }

  #bodyLength(): number {
    return Buffer.from(this.#header.slice(this.#typeBytes)).readInt32BE() - LENGTH_BYTES;
  }

  #next(): void {
    this.#typeBytes = 1;
    this.#header = [];
    this.#parts = [];
  }
}

/** The SQL of a client's Query or Parse message; undefined for every other one. */
export function sqlOf({ type, body }: ProtocolMessage): string | undefined {
  if (type !== 'Q' && type !== 'P') return undefined;
  const from = type === 'Q' ? 0 : body.indexOf(0) + 1; // Parse: name, SQL, parameter types
  return body.toString('utf8', from, body.indexOf(0, from));
}
