import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** What all connections of a proxy suffer now. */
export interface Weather {
  delayMs: number;
  /** While set, nothing passes until it resolves. */
  healed: Promise<void> | undefined;
}

/** A client's connection and the one to the server behind it. They close together. */
export class ProxiedConnection {
  /** Resolves when both sockets are closed. */
  readonly closed: Promise<void>;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #weather: Weather;
  readonly #end = new AbortController();

  constructor(client: Socket, port: number, weather: Weather) {
    this.#client = client;
    this.#server = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    this.#client.setNoDelay(true);
    this.#weather = weather;
    const bothClosed = [once(client, 'close'), once(this.#server, 'close')];
    this.closed = Promise.all(bothClosed).then(() => undefined);
    void this.#pump(this.#client, this.#server);
    void this.#pump(this.#server, this.#client);
  }

  /** RST on both sides. */
  reset(): void {
    this.#end.abort();
    this.#client.resetAndDestroy();
    this.#server.resetAndDestroy();
  }

  async #pump(from: Socket, to: Socket): Promise<void> {
    try {
      for await (const chunk of from as AsyncIterable<Buffer>) await this.#forward(chunk, to);
      await this.#passable();
      to.end();
    } catch {
      this.reset();
    }
  }

  /** The one place where data passes: cutting at a protocol message would go here. */
  async #forward(chunk: Buffer, to: Socket): Promise<void> {
    await this.#passable();
    if (!to.write(chunk)) await once(to, 'drain', { signal: this.#end.signal });
  }

  async #passable(): Promise<void> {
    const { signal } = this.#end;
    if (this.#weather.delayMs > 0) await pause(this.#weather.delayMs, undefined, { signal });
    while (this.#weather.healed && !signal.aborted) await Promise.race([this.#weather.healed, once(signal, 'abort')]);
    signal.throwIfAborted();
  }
}
