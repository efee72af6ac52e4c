import { Logger } from '../logger.js';
import { ShardingError } from '@app/routing';
import { MIN_DIRECTORY_STALENESS_MS } from '../sharding.options.js';
import { failureCode } from '../shards/database-failure.js';
import { NO_MOVES } from '../shards/open-move.js';
import { within } from '../shards/work-scope.js';
import { Directory } from './directory.js';
import { noDirectory } from './no-directory.js';
import { PolledMoves } from './polled-moves.js';
import { PinLookUps } from './pin-look-ups.js';
import { PinProblems } from './pin-problems.js';
import { ProcessLease } from './process-lease.js';
import type pg from 'pg';
import type { DirectorySettings } from '../sharding.settings.js';
import type { Database } from '../shards/database.js';
import type { MaybePromise } from '../shards/maybe-promise.js';
import type { HeldMoves } from '../shards/open-move.js';
import type { PlacementRules } from './pin-problems.js';
import type { Ask, Ways } from './follower.js';

/** Of one statement on the listening connection, connecting included where it must: with a heartbeat below 3 s. */
const LISTENER_LIMIT_MS = 1500;
/** Of one look-up through the pool. */
const POOL_LIMIT_MS = 2000;
/** Of the question what moves, where no directory is followed: a read of all shards waits for it. */
const MOVES_LIMIT_MS = 500;
const MIN_POOL = 2;
const MAX_LOOK_UPS = 4;

/** What a directory may be told; what is left out is as configured. */
export type DirectoryOptions = Partial<Omit<DirectorySettings, 'enabled'>>;

/**
 * The way from a `DirectoryRouter` to the control database. Inject it to make a router of your own; what was opened through it
 * starts and ends with the application.
 */
export class DirectoryConnection {
  readonly #opened: OpenDirectory[] = [];
  #phase: 'booting' | 'running' | 'stopped' = 'booting';
  readonly #logger = new Logger('directory');
  readonly #polled: PolledMoves | undefined;

  constructor(
    private readonly control: Database | undefined,
    private readonly settings: DirectorySettings,
    readonly rules: PlacementRules,
  ) {
    const ask: Ask = (query) => throughPool(control as Database, query, MOVES_LIMIT_MS);
    const warn = (line: string) => this.#logger.warn(line);
    if (control) this.#polled = new PolledMoves(ask, warn, settings.enabled ? 'overlooked' : 'waited-for');
  }

  /** All that were opened, in that order. */
  get opened(): readonly OpenDirectory[] {
    return this.#opened;
  }

  /**
   * A directory with its own connection and cache; it is read at boot, or now where that is over.
   *
   * @throws ShardingError `invalid_topology` without a control database, with a pool of one connection, where a
   *   transaction-mode pooler is the only way there, and for a `maxStalenessMs` below 5000
   */
  open(options: DirectoryOptions = {}): OpenDirectory {
    const control = this.#usable();
    const settings = { ...this.settings, ...options };
    refuseImpatient(settings);
    const problems = new PinProblems(this.rules, (line) => this.#logger.error(line));
    const lookUps = new PinLookUps({
      ask: (sql, values) => throughPool(control, { text: sql, values }),
      width: Math.min(MAX_LOOK_UPS, control.poolSize - 1),
      ttlMs: settings.cacheTtlMs,
      maxStalenessMs: settings.onOutage === 'fail' ? settings.maxStalenessMs : Infinity,
      found: (key, pin) => problems.saw(key, pin),
    });
    const connection = control.standing('directory', LISTENER_LIMIT_MS);
    const ways: Ways = {
      listener: (query) => connection.query(query, LISTENER_LIMIT_MS),
      pool: (query) => throughPool(control, query),
    };
    const lease = new ProcessLease((line) => this.#logger.warn(line));
    const directory = new Directory({ settings, ways, lookUps, problems, lease, log: this.#logger });
    connection.onNotification = directory.wake;
    connection.onEnd = directory.lost;
    const opened = { directory, problems };
    this.#opened.push(opened);
    if (this.#phase === 'running') void directory.start();
    return opened;
  }

  /** @throws ShardingError `migrations_pending` without a directory; `directory_unavailable` where the role may not read it */
  async start(): Promise<void> {
    this.#phase = 'running';
    await Promise.all(this.#opened.map(({ directory }) => directory.start()));
    for (const { directory } of this.#opened) {
      const refusal = noDirectory(failureCode(directory.trouble), directory.trouble);
      if (refusal) throw refusal;
    }
  }

  async stop(): Promise<void> {
    this.#phase = 'stopped';
    await Promise.all(this.#opened.map(({ directory }) => directory.stop()));
  }

  /** The open moves, for a read of all shards; without a control database there are none. */
  holdMoves(): MaybePromise<HeldMoves> {
    const [only, ...others] = this.#opened;
    if (only && others.length === 0) return only.directory.hold();
    return only ? this.#holdAll() : this.#poll();
  }

  /** Movers wait for each directory of this process. */
  async #holdAll(): Promise<HeldMoves> {
    const held = await Promise.all(this.#opened.map(async ({ directory }) => directory.hold()));
    const moves = held[0]?.moves ?? [];
    return { moves, end: () => held.forEach((each) => each.end()) };
  }

  async #poll(): Promise<HeldMoves> {
    return this.#polled ? this.#polled.hold() : NO_MOVES;
  }

  #usable(): Database {
    const { control } = this;
    if (!control) {
      throw new ShardingError(
        'invalid_topology',
        'a DirectoryRouter needs a control database: set [database] primary_url',
      );
    }
    if (control.poolSize < MIN_POOL) {
      throw new ShardingError(
        'invalid_topology',
        `a DirectoryRouter needs a control database pool of at least ${MIN_POOL} connections; raise [database] primary_pool_size`,
      );
    }
    if (!control.keepsSessions) {
      throw new ShardingError(
        'invalid_topology',
        'a DirectoryRouter listens for changes, which a transaction-mode pooler does not pass on: set [database] maintenance_url, a direct connection',
      );
    }
    return control;
  }
}

export interface OpenDirectory {
  readonly directory: Directory;
  readonly problems: PinProblems;
}

/** Knowledge that is 3 s old is served without a look at its age. */
function refuseImpatient({ maxStalenessMs }: DirectorySettings): void {
  if (maxStalenessMs >= MIN_DIRECTORY_STALENESS_MS) return;
  throw new ShardingError(
    'invalid_topology',
    `a DirectoryRouter cannot know sooner that the directory is not read: set its maxStalenessMs to ${MIN_DIRECTORY_STALENESS_MS} at least`,
  );
}

function throughPool<Row extends object>(
  control: Database,
  query: pg.QueryConfig | string,
  deadlineMs = POOL_LIMIT_MS,
): Promise<Row[]> {
  const { text, values } = typeof query === 'string' ? { text: query, values: [] } : query;
  return within('a question to the directory', { deadlineMs }, async () =>
    (await control.open()).query<Row[]>(text, values),
  );
}
