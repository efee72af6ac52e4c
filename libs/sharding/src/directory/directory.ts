import { ShardingError } from '@app/routing';
import { CHANGES_KEPT } from './directory-statements.js';
import { DirectoryLog } from './directory-log.js';
import { Follower } from './follower.js';
import { FollowedMoves } from './open-moves.js';
import { hasMoreThan, readAllPins, readChanges, readRevision, revisionOf } from './read-pins.js';
import type { MaybePromise } from '../shards/maybe-promise.js';
import type { HeldMoves, OpenMove } from '../shards/open-move.js';
import type { ChangeRow } from './directory-statements.js';
import type { DirectoryMode, DirectoryParts } from './directory-parts.js';
import type { Ask, Followed } from './follower.js';
import type { Snapshot } from './snapshot.js';
import type { Pin } from './pin.js';

/** Knowledge that was confirmed within this is not asked for again. Longer than a heartbeat with its deadline. */
const FRESH_MS = 3000;
/** A synchronous run of more routes looks at the clock again. */
const ROUTES_A_RUN = 1000;

/** What one process knows of the directory, and how fresh it is. */
export class Directory implements Followed {
  readonly #parts: DirectoryParts;
  readonly #follower: Follower;
  readonly #log: DirectoryLog;
  readonly #moves: FollowedMoves;
  #snapshot: Snapshot | undefined;
  #perKey = false;
  #revision = 0;
  /** When the database was last asked and answered, on the clock of `performance.now()`. */
  #confirmedAt = -Infinity;
  /** So many more routes of the running piece of work need not look at the clock. */
  #freshFor = 0;
  #countDue = false;
  #nextCountAt = 0;

  constructor(parts: DirectoryParts) {
    this.#parts = parts;
    this.#log = new DirectoryLog(parts.log);
    this.#moves = new FollowedMoves((line) => parts.log.warn(line));
    this.#follower = new Follower(this, parts.ways, this.#log);
  }

  get mode(): DirectoryMode {
    if (this.#snapshot) return 'snapshot';
    return this.#perKey ? 'per_key' : 'unread';
  }

  /** The pins, where all are in memory. */
  get rows(): number | undefined {
    return this.#snapshot?.size;
  }

  /** The keys that were looked up and are kept, pinned or not; none where all pins are in memory. */
  get lookedUp(): number {
    return this.#parts.lookUps.size;
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
    return this.#log.staleSince;
  }

  /** Whether keys can be routed now: all, or with look-ups those that are known. */
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
    if (this.#parts.lease.written) await this.step(); // what a mover did that saw no lease yet
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

  /** The open moves, for a read of all shards; until it ends this process does not say that it routes by more. */
  hold(): MaybePromise<HeldMoves> {
    if (!this.#follower.stoodStill) return this.#moves.hold(this.#revision);
    return this.#follower.freshStep().then(() => this.#moves.hold(this.#revision));
  }

  async reload(ask: Ask): Promise<void> {
    const startedAt = performance.now();
    const { snapshotMax } = this.#parts.settings;
    if (this.#perKey && (await hasMoreThan(ask, snapshotMax))) {
      this.#lookUpFromNowOn(await readRevision(ask), startedAt, await this.#moves.read(ask));
      return this.#renewLease(ask);
    }
    const { revision, pins, askedAt } = await readAllPins(ask, snapshotMax);
    const moves = await this.#moves.read(ask); // after the revision: with all that it tells of
    const endedAt = performance.now();
    if (pins) {
      this.#nextCountAt = endedAt + Math.max(1000, 10 * (endedAt - startedAt));
      this.#moves.known = moves;
      this.#replace(pins, revision, askedAt);
    } else this.#lookUpFromNowOn(revision, startedAt, moves);
    return this.#renewLease(ask);
  }

  failed(error: Error): void {
    this.#log.unanswered(error, this.mode === 'unread' ? 'no key can be routed' : 'what is known is used');
  }

  async catchUp(ask: Ask): Promise<boolean> {
    if (this.mode === 'unread') return this.reload(ask).then(() => true);
    const askedAt = performance.now();
    const rows = await readChanges(ask, this.#revision);
    const revision = revisionOf(rows);
    const changed = revision !== this.#revision;
    if (changed) this.#moves.known = await this.#moves.read(ask); // known before the revision is
    if (this.#missed(revision) || !this.#apply(rows, revision)) {
      await this.reload(ask);
      this.#log.reread(this.rows, this.#revision);
    } else this.#confirmed(askedAt);
    await this.#countPins(ask);
    await this.#renewLease(ask);
    return changed;
  }

  #renewLease(ask: Ask): Promise<void> {
    return this.#parts.lease.renew(ask, this.#moves.oldest(this.#revision));
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

  /** Also what was looked up, once nobody answers: until then it is as fresh as the changes that are heard of. */
  get #tooOld(): boolean {
    const { onOutage, maxStalenessMs } = this.#parts.settings;
    if (onOutage !== 'fail' || this.ageMs <= maxStalenessMs) return false;
    return this.#snapshot !== undefined || this.trouble !== undefined;
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
    problems.changed(changed.map(({ key, after }) => [key, after] as const));
    this.#log.changed(changed, revision);
    this.#revision = snapshot.revision = revision;
    if (snapshot.size > this.#parts.settings.snapshotMax) this.#lookUpFromNowOn(revision, performance.now());
    return true;
  }

  #applyToLookUps(rows: readonly ChangeRow[], revision: number): true {
    const { lookUps, problems } = this.#parts;
    const changed = lookUps.apply(rows, revision);
    if (changed === 'everything') this.#log.reread(undefined, revision);
    else {
      problems.changed(changed.map(({ key }) => [key, undefined] as const)); // the next look-up sees
      this.#log.changed(changed, revision);
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

  #lookUpFromNowOn(revision: number, askedAt: number, moves?: readonly OpenMove[]): void {
    if (moves) this.#moves.known = moves;
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
    this.#log.answered();
    this.#log.tick();
  }
}
