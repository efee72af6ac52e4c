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
  readonly #sockets: readonly [client: Socket, server: Socket];
  readonly #weather: Weather;
  readonly #end = new AbortController();

  constructor(client: Socket, port: number, weather: Weather) {
    const server = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    this.#sockets = [client, server];
    this.#weather = weather;
    this.closed = Promise.all(this.#sockets.map(untilClosed)).then(() => this.#end.abort());
    for (const socket of this.#sockets) {
      socket.setNoDelay(true);
      socket.on('error', () => this.reset());
    }
    this.#pipe(client, server);
    this.#pipe(server, client);
  }

  /** RST on both sides. */
  reset(): void {
    this.#end.abort();
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  #pipe(from: Socket, to: Socket): void {
    from.on('data', (chunk: Buffer) => {
      from.pause();
      this.#forward(chunk, to).then(
        () => from.resume(),
        () => this.reset(),
      );
    });
    from.on('end', () => {
      this.#passable().then(
        () => to.end(),
        () => this.reset(),
      );
    });
  }

  /** The one place where data passes: cutting at a protocol message would go here. */
  async #forward(chunk: Buffer, to: Socket): Promise<void> {
    await this.#passable();
    if (!to.write(chunk)) await once(to, 'drain', { signal: this.#end.signal });
  }

  /** Waits for the weather. */
  async #passable(): Promise<void> {
    const { signal } = this.#end;
    if (this.#weather.delayMs > 0) await pause(this.#weather.delayMs, undefined, { signal });
    while (this.#weather.healed && !signal.aborted) {
      await Promise.race([this.#weather.healed, once(signal, 'abort')]);
    }
    signal.throwIfAborted();
  }
}

/** Not `once()`: that one fails when the socket reports an error before it closes. */
function untilClosed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}
