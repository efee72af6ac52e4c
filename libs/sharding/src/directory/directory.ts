import { hashOfString, ShardingError } from '@app/routing';
import { CHANGES_KEPT } from './directory-statements.js';
import { Follower } from './follower.js';
import { failureCode } from '../shards/database-failure.js';
import {
  hasMoreThan,
  readChanges,
  readRevision,
  readSnapshot,
  readWholeSnapshot,
  revisionOf,
} from './read-pins.js';
import type { DirectorySettings } from '../sharding.settings.js';
import type { MaybePromise } from '../shards/maybe-promise.js';
import type { ChangeRow } from './directory-statements.js';
import type { Ask, Followed, Ways } from './follower.js';
import type { Snapshot } from './snapshot.js';
import type { PinLookUps } from './pin-look-ups.js';
import type { PinProblems } from './pin-problems.js';
import type { Pin } from './pin.js';
import type { ProcessLease } from './process-lease.js';

/** `snapshot`: all pins are in memory; `per_key`: there are too many, each is looked up; `unread`: not read yet. */
export type DirectoryMode = 'snapshot' | 'per_key' | 'unread';

export interface DirectoryParts {
  readonly settings: Omit<DirectorySettings, 'enabled'>;
  readonly ways: Ways;
  readonly lookUps: PinLookUps;
  readonly problems: PinProblems;
  readonly lease: ProcessLease;
  readonly log: { log(line: string): void; warn(line: string): void };
}

/** Knowledge that was confirmed within this is not asked for again. Longer than a heartbeat with its deadline. */
const FRESH_MS = 3000;
/** A synchronous run of more routes looks at the clock again. */
const ROUTES_A_RUN = 1000;
/** Reading page by page is given up after so many times. */
const PAGED_RELOADS = 2;

/** What one process knows of the directory, and how fresh it is. */
export class Directory implements Followed {
  readonly #parts: DirectoryParts;
  readonly #follower: Follower;
  #snapshot: Snapshot | undefined;
  #perKey = false;
  #revision = 0;
  /** When the database was last asked and answered, on the clock of `performance.now()`. */
  #confirmedAt = -Infinity;
  #staleSince: Date | undefined;
  /** So many more routes of the running piece of work need not look at the clock. */
  #freshFor = 0;
  #countDue = false;
  #nextCountAt = 0;

  constructor(parts: DirectoryParts) {
    this.#parts = parts;
    this.#follower = new Follower(this, parts.ways);
  }

  get mode(): DirectoryMode {
    if (this.#snapshot) return 'snapshot';
    return this.#perKey ? 'per_key' : 'unread';
  }

  /** The pins in memory. */
  get rows(): number {
    return this.#snapshot?.size ?? this.#parts.lookUps.size;
  }

  get revision(): number {
    return this.#revision;
  }

  get listening(): boolean {
    return this.#follower.listening;
  }

  get ageMs(): number {
    return performance.now() - this.#confirmedAt;
  }

  /** Since when the database does not answer. */
  get staleSince(): Date | undefined {
    return this.#staleSince;
  }

  /** Whether keys can be routed now. */
  get usable(): boolean {
    return this.mode !== 'unread' && !this.#tooOld;
  }

  get trouble(): Error | undefined {
    return this.#follower.trouble;
  }

  /** Something may have changed. */
  readonly wake = (): void => this.#follower.wake();
  /** The listening connection ended. */
  readonly lost = (): void => this.#follower.lost();

  /** Reads the directory, and follows it from then on, also where the first reading failed. */
  async start(): Promise<void> {
    await this.step();
    this.#follower.start();
  }

  async stop(): Promise<void> {
    await this.#follower.stop();
    const { lease, ways } = this.#parts;
    if (!lease.written || this.trouble) return;
    const ask = this.listening ? ways.listener : ways.pool;
    await ask(lease.end()).catch(() => undefined); // it runs out by itself
  }

  /** Asks the database once; never rejects. */
  async step(): Promise<void> {
    await this.#follower.step();
  }

  /** Waits until this process routes by `revision`, at most until `ends` on the clock of `performance.now()`. */
  async reaches(revision: number, ends: number): Promise<boolean> {
    while (this.#revision < revision) {
      if (this.trouble || this.#follower.stopped || performance.now() > ends) return false;
      await this.#follower.freshStep();
    }
    return true;
  }

  /**
   * What the directory says of a key; at once where it is in memory and fresh.
   *
   * @param hash `hashOfString` of the key
   * @throws ShardingError `directory_unavailable`
   */
  find(key: string, hash: number): MaybePromise<Pin | undefined> {
    const snapshot = this.#snapshot;
    if (snapshot && (this.#freshFor-- > 0 || this.#isFresh())) return snapshot.get(key, hash);
    return this.#trusted(() => (this.#snapshot ? this.#snapshot.get(key, hash) : this.#look(key)));
  }

  /** The shards that keys of a slot are pinned to. @throws ShardingError `directory_unavailable` */
  shardsOfSlot(slot: number): MaybePromise<readonly string[]> {
    return this.#trusted(() => this.#snapshot?.shardsOfSlot(slot) ?? this.#parts.lookUps.shardsOfSlot(slot));
  }

  async reload(ask: Ask): Promise<void> {
    const startedAt = performance.now();
    const { snapshotMax } = this.#parts.settings;
    if (this.#perKey && (await hasMoreThan(ask, snapshotMax))) {
      return this.#lookUpFromNowOn(await readRevision(ask), startedAt);
    }
    for (let attempt = 1; ; attempt++) {
      const whole = attempt > PAGED_RELOADS; // they change faster than pages can be read
      const { revision, pins } = await (whole ? readWholeSnapshot : readSnapshot)(ask, snapshotMax);
      if (!pins) return this.#lookUpFromNowOn(revision, startedAt);
      const askedAt = performance.now();
      const rows = whole ? [] : await readChanges(ask, revision);
      if (pins.apply(rows) === 'everything') continue;
      this.#nextCountAt = askedAt + Math.max(1000, 10 * (askedAt - startedAt));
      this.#replace(pins, whole ? revision : revisionOf(rows), whole ? startedAt : askedAt);
      return this.#parts.lease.renew(ask, this.#revision);
    }
  }

  failed(error: Error): void {
    if (this.#staleSince) return;
    this.#staleSince = new Date();
    const serves = this.mode === 'unread' ? 'no key can be routed' : 'what is known is used';
    this.#parts.log.warn(`the directory cannot be read (${reasonOf(error)}): ${serves}`);
  }

  async catchUp(ask: Ask): Promise<boolean> {
    if (this.mode === 'unread') return this.reload(ask).then(() => true);
    const askedAt = performance.now();
    const rows = await readChanges(ask, this.#revision);
    const revision = revisionOf(rows);
    const changed = revision !== this.#revision;
    if (this.#missed(revision) || !this.#apply(rows, revision)) await this.reload(ask);
    else this.#confirmed(askedAt);
    await this.#countPins(ask);
    await this.#parts.lease.renew(ask, this.#revision);
    return changed;
  }

  /** Asks the clock once for all routes of one synchronous run: nothing can arrive between them. */
  #isFresh(): boolean {
    this.#freshFor = 0;
    if (performance.now() - this.#confirmedAt > FRESH_MS) return false;
    this.#freshFor = ROUTES_A_RUN;
    queueMicrotask(this.#runEnds);
    return true;
  }

  readonly #runEnds = (): void => void (this.#freshFor = 0);

  /** Runs `serve` where what is known may be used. */
  #trusted<T>(serve: () => MaybePromise<T>): MaybePromise<T> {
    if (this.mode === 'unread' || !this.#follower.stoodStill) return this.#served(serve);
    return this.#follower.freshStep().then(() => this.#served(serve)); // this process was away, not the database
  }

  /** While nobody answers, what was looked up before is given without asking again. */
  #look(key: string): MaybePromise<Pin | undefined> {
    const { lookUps } = this.#parts;
    const kept = this.trouble && lookUps.kept(key);
    return kept ? kept.pin : lookUps.find(key);
  }

  #served<T>(serve: () => MaybePromise<T>): MaybePromise<T> {
    if (this.mode === 'unread') throw this.#unavailable('it could not be read yet');
    if (this.#tooOld) {
      throw this.#unavailable(`what is known is older than ${this.#parts.settings.maxStalenessMs} ms`);
    }
    return serve();
  }

  get #tooOld(): boolean {
    const { onOutage, maxStalenessMs } = this.#parts.settings;
    return this.#snapshot !== undefined && onOutage === 'fail' && this.ageMs > maxStalenessMs;
  }

  #unavailable(reason: string): ShardingError {
    return new ShardingError(
      'directory_unavailable',
      `the directory of pins is on the control database, which does not answer: ${reason}; try again later`,
      { cause: this.trouble },
    );
  }

  /** Changes that far back are not kept; a smaller revision is that of an older copy of the database. */
  #missed(revision: number): boolean {
    return revision < this.#revision || revision - this.#revision >= CHANGES_KEPT;
  }

  /** @returns false where the rows do not say what changed */
  #apply(rows: readonly ChangeRow[], revision: number): boolean {
    const { problems } = this.#parts;
    const snapshot = this.#snapshot;
    if (!snapshot) return this.#applyToLookUps(rows, revision);
    const changed = snapshot.apply(rows);
    if (changed === 'everything') return false;
    problems.changed([...changed].map((key) => [key, snapshot.get(key, hashOfString(key))] as const));
    this.#revision = snapshot.revision = revision;
    if (snapshot.size > this.#parts.settings.snapshotMax) this.#lookUpFromNowOn(revision, performance.now());
    return true;
  }

  #applyToLookUps(rows: readonly ChangeRow[], revision: number): true {
    const { lookUps, problems } = this.#parts;
    if (rows.some(({ changes, changed }) => changes && changed === null)) lookUps.clear(revision);
    else {
      const keys = rows.flatMap(({ changed }) => changed ?? []);
      lookUps.changed(keys, revision);
      problems.changed(keys.map((key) => [key, undefined] as const)); // the next look-up sees
    }
    this.#countDue ||= revision !== this.#revision;
    this.#revision = revision;
    return true;
  }

  #replace(snapshot: Snapshot, revision: number, askedAt: number): void {
    if (this.#perKey) this.#parts.log.log(`${snapshot.size} pins: every process keeps all of them again`);
    this.#perKey = false;
    this.#revision = snapshot.revision = revision;
    this.#snapshot = snapshot;
    this.#parts.lookUps.clear(revision);
    this.#parts.problems.restart(snapshot.entries());
    this.#confirmed(askedAt);
  }

  #lookUpFromNowOn(revision: number, askedAt: number): void {
    const { settings, lookUps, log, problems } = this.#parts;
    if (!this.#perKey) log.warn(`more than ${settings.snapshotMax} pins: each key is looked up from now on`);
    this.#perKey = true;
    this.#snapshot = undefined;
    this.#revision = revision;
    lookUps.clear(revision);
    problems.restart([]);
    this.#confirmed(askedAt);
  }

  /** Back to the snapshot where the pins became few enough; at most a tenth of the time goes into reading them all. */
  async #countPins(ask: Ask): Promise<void> {
    if (!this.#perKey || !this.#countDue || performance.now() < this.#nextCountAt) return;
    this.#countDue = false;
    const askedAt = performance.now();
    if (await hasMoreThan(ask, this.#parts.settings.snapshotMax)) {
      const endedAt = performance.now();
      this.#nextCountAt = endedAt + Math.max(1000, 10 * (endedAt - askedAt));
    } else await this.reload(ask);
  }

  #confirmed(askedAt: number): void {
    this.#confirmedAt = askedAt;
    if (!this.#staleSince) return;
    this.#staleSince = undefined;
    this.#parts.log.log('the directory answers again');
  }
}

/** Without the text of the driver: it can name hosts. */
function reasonOf(error: Error): string {
  return (
    failureCode(error) ?? (error.message === 'timeout expired' ? 'no answer in time' : 'connection failed')
  );
}
