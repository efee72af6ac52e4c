import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { ProxiedConnection, type Weather } from './proxied-connection.js';
import { StatementCuts, type CutManner, type CutMoment } from './statement-cuts.js';

/**
 * A TCP proxy before a server that plays a bad network. Point a client at `url(databaseUrl)` and break what lies
 * between. Whoever starts it calls `dispose()`.
 */
export class FaultProxy {
  readonly #target: number;
  readonly #connections = new Set<ProxiedConnection>();
  readonly #cuts = new StatementCuts();
  readonly #weather: Weather = { delayMs: 0, healed: undefined, cuts: this.#cuts };
  #heal: (() => void) | undefined;
  #server: Server | undefined;
  #port = 0;

  private constructor(target: number) {
    this.#target = target;
  }

  /** Listens on a port of 127.0.0.1 and forwards to `target.port`. */
  static async start(target: { readonly port: number }): Promise<FaultProxy> {
    const proxy = new FaultProxy(target.port);
    await proxy.accept();
    return proxy;
  }

  get port(): number {
    return this.#port;
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#connections.size;
  }

  /** Planned cuts that have happened. */
  get injections(): number {
    return this.#cuts.happened;
  }

  /** Statements that clients have sent so far. */
  get statements(): number {
    return this.#cuts.seen;
  }

  /** The same database, reached through the proxy. */
  url(databaseUrl: string): string {
    const changed = new URL(databaseUrl);
    changed.hostname = '127.0.0.1';
    changed.port = String(this.#port);
    return changed.href;
  }

  /** New connections get ECONNREFUSED; open ones go on. */
  async refuse(): Promise<void> {
    this.#server?.close();
    this.#server = undefined;
  }

  /** New connections are accepted again, on the same port. */
  async accept(): Promise<void> {
    if (this.#server) return;
    const server = createServer({ allowHalfOpen: true }, (client) => {
      const connection = new ProxiedConnection(client, this.#target, this.#weather);
      this.#connections.add(connection);
      void connection.closed.then(() => this.#connections.delete(connection));
    });
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    this.#server = server;
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Resets (RST) all open connections on both sides. */
  async dropAll(): Promise<void> {
    const open = [...this.#connections];
    for (const connection of open) connection.reset();
    await Promise.all(open.map((connection) => connection.closed));
  }

  /**
   * Nothing passes in either direction, sockets stay open, new connections are accepted and stay silent. What is
   * sent meanwhile arrives after `heal()`, as TCP would repeat it.
   */
  blackHole(): void {
    this.#weather.healed ??= new Promise((resolve) => (this.#heal = resolve));
  }

  /** The connections that are open now go silent for ever, without FIN or RST; new ones pass. Returns how many. */
  blackHoleOpen(): number {
    for (const connection of this.#connections) connection.goSilent();
    return this.#connections.size;
  }

  /**
   * Cuts the connection of the next statement that matches, once: `before` the server gets it, or `after` it has
   * answered, of which the client never hears. Count `injections` to know that it happened.
   *
   * @param passing how many that match get through before
   */
  cutOn(statement: RegExp, when: CutMoment, how: CutManner = 'reset', passing = 0): void {
    this.#cuts.plan(statement, { when, how }, passing);
  }

  /** The same at the k-th statement from now, 1 being the next one. */
  cutAt(k: number, when: CutMoment, how: CutManner = 'reset'): void {
    this.#cuts.plan(/(?:)/, { when, how }, k - 1);
  }

  /** Takes back the cuts that have not happened. */
  forgetCuts(): void {
    this.#cuts.forget();
  }

  /** Ends `blackHole()` and `delay()`. */
  heal(): void {
    this.#weather.delayMs = 0;
    this.#weather.healed = undefined;
    this.#heal?.();
  }

  /** Every piece of data takes this much longer, in each direction. */
  delay(ms: number): void {
    this.#weather.delayMs = ms;
  }

  /** Closes everything; may be called again. */
  async dispose(): Promise<void> {
    await this.refuse();
    await this.dropAll();
  }
}
