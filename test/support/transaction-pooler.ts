import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { withDatabase } from './admin-query.js';
import { PooledServer, Frames, int32s, isEncryptionRequest, message, readyStatus } from './pooled-server.js';

/** A pooler in transaction mode before a server, the stand-in or a real one. */
export interface TestPooler {
  readonly port: number;
  /** The same database, reached through the pooler. */
  url(databaseUrl: string): string;
  /** The start-up parameters that clients have sent so far, beside user and database. */
  startupParameters(): Promise<string[]>;
  /** Closes everything; may be called again. */
  dispose(): Promise<void>;
}

export interface PoolerOptions {
  /** Of the server behind it, with user and password: every client works as that user. */
  readonly serverUrl: string;
  /** Server connections per database. */
  readonly servers?: number;
  /** A client that gets no server for so long is sent away. */
  readonly waitMs?: number;
}

/** What PgBouncer takes from clients; it says no to everything else. */
const ACCEPTED = new Set([
  'user',
  'database',
  'client_encoding',
  'application_name',
  'datestyle',
  'timezone',
  'standard_conforming_strings',
]);
const CANCEL_REQUEST_CODE = 80_877_102;
const FATAL = '08P01';
const CANCEL_DELAY_MS = 10;

/** The server connections of one database: no more than `size`, given out in turn. */
class ServerPool {
  readonly #idle: PooledServer[] = [];
  readonly #waiting: ((server: PooledServer | Promise<PooledServer>) => void)[] = [];
  #total = 0;
  #parameters: PooledServer['parameters'] | undefined;

  constructor(
    private readonly url: string,
    private readonly size: number,
  ) {}

  /** What a server has said at login; only the first client needs a server for it. */
  async parameters(): Promise<PooledServer['parameters']> {
    if (this.#parameters) return this.#parameters;
    const server = await this.take();
    this.#parameters = server.parameters;
    await this.giveBack(server);
    return this.#parameters;
  }

  /** Another one than `last` where there is one. */
  async take(last?: PooledServer): Promise<PooledServer> {
    while (this.#idle[0] && !this.#idle[0].isOpen) this.discard(this.#idle.shift()!);
    if (this.#total < this.size) return this.#open();
    const other = this.#idle.findIndex((server) => server !== last);
    const [server] = this.#idle.splice(Math.max(0, other), 1);
    return server ?? new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** A cancel that is on its way must not meet the next borrower. */
  async giveBack(server: PooledServer): Promise<void> {
    server.borrower = undefined;
    await server.cancelled;
    const next = this.#waiting.shift();
    if (next) next(server);
    else this.#idle.push(server);
  }

  discard(server: PooledServer): void {
    server.borrower = undefined;
    server.close();
    this.#total--;
    this.#waiting.shift()?.(this.#open());
  }

  close(): void {
    for (const server of this.#idle.splice(0)) server.close();
  }

  async #open(): Promise<PooledServer> {
    this.#total++;
    try {
      return await PooledServer.open(this.url);
    } catch (error) {
      this.#total--;
      throw error;
    }
  }
}

/** One client: logged in by the pooler, lent a server from the first message of a transaction to its end. */
class ClientSession {
  readonly key = {
    pid: Math.floor(Math.random() * 2 ** 30) + 1,
    secret: Math.floor(Math.random() * 2 ** 31),
  };
  #server: PooledServer | undefined;
  #last: PooledServer | undefined;
  #taking = false;
  #closed = false;
  /** Messages that wait for a server. */
  #held: Buffer[] = [];
  /** ReadyForQuery messages that the server owes. */
  #owed = 0;

  constructor(
    private readonly socket: Socket,
    private readonly pool: ServerPool,
    private readonly waitMs: number,
  ) {}

  /** Answers the login. */
  async welcome(): Promise<void> {
    const statuses = (await this.pool.parameters()).map(([name, value]) => message('S', name, value));
    const { pid, secret } = this.key;
    const ready = [message('K', int32s(pid, secret)), message('Z', Buffer.from('I'))];
    this.socket.write(Buffer.concat([message('R', int32s(0)), ...statuses, ...ready]));
  }

  async send(frame: Buffer): Promise<void> {
    const type = String.fromCharCode(frame[0]!);
    if (type === 'X') return void this.socket.end();
    if ('QSF'.includes(type)) this.#owed++;
    if (this.#server) return this.#server.send(frame);
    this.#held.push(frame);
    if (this.#taking) return;
    this.#taking = true;
    const late = setTimeout(() => this.#sendAway('query_wait_timeout'), this.waitMs);
    const server = await this.pool.take(this.#last).finally(() => clearTimeout(late));
    this.#taking = false;
    if (this.#closed) return this.pool.giveBack(server);
    this.#server = this.#last = server;
    server.borrower = {
      receive: (answer) => this.#receive(answer),
      lost: () => this.#sendAway('server conn crashed?'),
    };
    for (const held of this.#held.splice(0)) server.send(held);
  }

  /** Of the server that works for this client now; nothing where none does. */
  cancel(): Promise<unknown> {
    return this.#server?.cancel() ?? Promise.resolve();
  }

  /** A server that is in the middle of something cannot be given to anybody else. */
  close(): void {
    this.#closed = true;
    if (this.#server) this.pool.discard(this.#server);
    this.#server = undefined;
  }

  #receive(answer: Buffer): void {
    this.socket.write(answer);
    const status = readyStatus(answer);
    if (status === undefined || --this.#owed > 0 || status !== 'I' || !this.#server) return;
    const server = this.#server;
    this.#server = undefined;
    void this.pool.giveBack(server);
  }

  #sendAway(reason: string): void {
    refuse(this.socket, reason);
    this.close();
  }
}

/** Says why and closes, as PgBouncer does, with one code for everything. */
function refuse(socket: Socket, reason: string): undefined {
  socket.end(message('E', 'SFATAL', `C${FATAL}`, `M${reason}`, Buffer.alloc(1)));
}

/**
 * Behaves like PgBouncer with `pool_mode = transaction`: refuses start-up parameters, lends each transaction another
 * server connection, resets nothing in between, passes cancels on. It believes every client (`auth_type = any`), knows
 * no TLS, and does not carry client_encoding and the like from one server to the next. Starter calls `dispose()`.
 */
export class TransactionPooler implements TestPooler {
  readonly #options: Required<PoolerOptions>;
  readonly #pools = new Map<string, ServerPool>();
  readonly #sessions = new Map<number, ClientSession>();
  readonly #sockets = new Set<Socket>();
  readonly #seen: string[] = [];
  readonly #server: Server;

  private constructor(options: PoolerOptions) {
    this.#options = { servers: 3, waitMs: 120_000, ...options };
    this.#server = createServer({ noDelay: true }, (socket) => this.#accept(socket));
  }

  static async start(options: PoolerOptions): Promise<TransactionPooler> {
    const pooler = new TransactionPooler(options);
    pooler.#server.listen(0, '127.0.0.1');
    await once(pooler.#server, 'listening');
    return pooler;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(databaseUrl: string): string {
    return atPort(databaseUrl, this.port);
  }

  async startupParameters(): Promise<string[]> {
    return [...new Set(this.#seen)];
  }

  async dispose(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    for (const pool of this.#pools.values()) pool.close();
    await closed;
  }

  #accept(socket: Socket): void {
    const frames = new Frames('client');
    let session: ClientSession | undefined;
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#sockets.delete(socket);
      if (!session) return;
      this.#sessions.delete(session.key.pid);
      session.close();
    });
    socket.on('data', (chunk: Buffer) => {
      for (const frame of frames.push(chunk)) {
        if (session) session.send(frame).catch(() => refuse(socket, 'server login has been failing'));
        else session = this.#begin(socket, frame);
      }
    });
  }

  /** The first message of a client. */
  #begin(socket: Socket, frame: Buffer): ClientSession | undefined {
    if (isEncryptionRequest(frame)) return void socket.write('N');
    if (frame.readInt32BE(4) === CANCEL_REQUEST_CODE) return this.#cancel(socket, frame);
    const words = frame.toString('utf8', 8).split('\0');
    const pairs = words.flatMap((word, index) =>
      index % 2 === 0 && word ? [[word, words[index + 1]!]] : [],
    );
    const parameters = Object.fromEntries(pairs) as Record<string, string>;
    const names = Object.keys(parameters);
    this.#seen.push(...names.filter((name) => name !== 'user' && name !== 'database'));
    const unknown = names.find((name) => !ACCEPTED.has(name.toLowerCase()));
    if (unknown) return refuse(socket, `unsupported startup parameter: ${unknown}`);
    const session = new ClientSession(socket, this.#pool(parameters['database'] ?? ''), this.#options.waitMs);
    this.#sessions.set(session.key.pid, session);
    session.welcome().catch(() => refuse(socket, 'server login has been failing'));
    return session;
  }

  /** A way to the server is made first; who has left meanwhile is forgotten. */
  #cancel(socket: Socket, frame: Buffer): undefined {
    const [pid, secret] = [frame.readInt32BE(8), frame.readInt32BE(12)];
    setTimeout(() => {
      const session = this.#sessions.get(pid);
      const isKnown = !socket.readableEnded && session?.key.secret === secret;
      void (isKnown ? session.cancel() : Promise.resolve()).finally(() => socket.destroy());
    }, CANCEL_DELAY_MS);
  }

  #pool(database: string): ServerPool {
    const { serverUrl, servers } = this.#options;
    let pool = this.#pools.get(database);
    if (!pool) {
      this.#pools.set(database, (pool = new ServerPool(withDatabase(serverUrl, database), servers)));
    }
    return pool;
  }
}

/** The same URL with a port of this machine. */
export function atPort(databaseUrl: string, port: number): string {
  const changed = new URL(databaseUrl);
  changed.hostname = '127.0.0.1';
  changed.port = String(port);
  return changed.href;
}
