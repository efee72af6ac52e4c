import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { CutWatch, type CutManner, type StatementCuts, type Verdict } from './statement-cuts.js';

/** What all connections of a proxy suffer now. */
export interface Weather {
  delayMs: number;
  /** While set, nothing passes until it resolves. */
  healed: Promise<void> | undefined;
  /** Cuts at single statements. */
  readonly cuts: StatementCuts;
}

/** A client's connection and the one to the server behind it. They close together, unless the line went silent. */
export class ProxiedConnection {
  /** Resolves when both sockets are closed. */
  readonly closed: Promise<void>;
  readonly #sockets: readonly [client: Socket, server: Socket];
  readonly #weather: Weather;
  readonly #watch: CutWatch;
  readonly #end = new AbortController();
  #silent = false;

  constructor(client: Socket, port: number, weather: Weather) {
    const server = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    this.#sockets = [client, server];
    this.#weather = weather;
    this.#watch = new CutWatch(weather.cuts);
    this.closed = Promise.all(this.#sockets.map(untilClosed)).then(() => this.#end.abort());
    for (const socket of this.#sockets) {
      socket.setNoDelay(true);
      socket.on('error', () => this.#silent || this.reset());
    }
    this.#pipe(client, { to: server, judge: (chunk) => this.#watch.fromClient(chunk) });
    this.#pipe(server, { to: client, judge: (chunk) => this.#watch.fromServer(chunk) });
  }

  /** RST on both sides. */
  reset(): void {
    this.#end.abort();
    for (const socket of this.#sockets) {
      if (socket.writableEnded)
        socket.destroy(); // a reset behind a FIN would never close it
      else socket.resetAndDestroy();
    }
  }

  /** From now on nothing passes, no FIN and no RST either: each side believes that the other one is still there. */
  goSilent(): void {
    this.#silent = true;
  }

  #pipe(from: Socket, way: { readonly to: Socket; readonly judge: (chunk: Buffer) => Verdict }): void {
    from.on('data', (chunk: Buffer) => {
      if (this.#silent) return;
      from.pause();
      this.#forward(way.judge(chunk), way.to).then(
        () => from.resume(),
        () => this.reset(),
      );
    });
    from.on('end', () => {
      this.#passable().then(
        () => this.#silent || way.to.end(),
        () => this.reset(),
      );
    });
  }

  /** The one place where data passes. */
  async #forward({ passes, cut }: Verdict, to: Socket): Promise<void> {
    await this.#passable();
    if (this.#silent) return;
    if (passes.length > 0 && !to.write(passes)) await once(to, 'drain', { signal: this.#end.signal });
    if (cut !== undefined) this.#cut(cut);
  }

  #cut(how: CutManner): void {
    if (how === 'silent') this.goSilent();
    else this.reset();
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
