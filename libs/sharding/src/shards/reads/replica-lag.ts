import type { Lsn } from './lsn.js';

/** Primary positions that are remembered until the replica has replayed them. */
const MAX_SAMPLES = 64;

interface Sample {
  readonly lsn: Lsn;
  readonly at: number;
}

/**
 * How far a replica was behind when it was last asked, from samples of the primary's position: 0 while the last sample
 * is replayed, else between the age of the oldest sample that is not and the age of the newest one that is. Within these
 * bounds the replica's own word counts (the age of the last transaction it replayed), which alone would be wrong on an
 * idle primary and where clocks differ. All times in milliseconds of one monotonic clock.
 */
export class ReplicaLag {
  #replayed: Lsn | undefined;
  #newest: Lsn | undefined;
  /** Not replayed yet, oldest first. */
  #pending: Sample[] = [];
  #caughtUpAt: number | undefined;
  #claimedMs: number | undefined;
  /** Since then nothing is known: silence is no lag. */
  #askedAt = 0;

  /** The position that the replica is known to have replayed. */
  get replayed(): Lsn | undefined {
    return this.#replayed;
  }

  /** The last position of the primary that is remembered, replayed or not. */
  get newestSample(): Lsn | undefined {
    return this.#newest;
  }

  /** The primary was at `lsn`. */
  primaryAt(lsn: Lsn, now: number): void {
    this.#newest = lsn;
    while ((this.#pending.at(-1)?.lsn ?? lsn) > lsn) this.#pending.pop(); // it is another primary: a failover, a restore
    if (this.#pending.at(-1)?.lsn === lsn) return;
    this.#pending.push({ lsn, at: now });
    this.#settle(now);
    if (this.#pending.length > MAX_SAMPLES) this.#thinOut(now);
  }

  /** The replica has replayed `lsn`; `claimedMs` is the age of its last transaction, by its own clock. */
  replayedTo(lsn: Lsn, now: number, claimedMs?: number): void {
    this.#replayed = lsn;
    this.#claimedMs = claimedMs;
    this.#askedAt = now;
    this.#settle(now);
  }

  /** The replica that has said so may be another one now: until it is asked again nothing is known. */
  forgetReplayed(): void {
    this.#replayed = undefined;
  }

  /** Undefined before the replica was seen. */
  get lagMs(): number | undefined {
    if (this.#replayed === undefined) return undefined;
    const [oldest] = this.#pending;
    if (!oldest || oldest.at >= this.#askedAt) return 0;
    const least = this.#askedAt - oldest.at;
    const most = this.#caughtUpAt === undefined ? Infinity : this.#askedAt - this.#caughtUpAt;
    return Math.round(Math.min(Math.max(this.#claimedMs ?? least, least), most));
  }

  /** Forgets the sample that is missed least: gaps may be as wide as their age is high. */
  #thinOut(now: number): void {
    const at = (index: number) => this.#pending[index]?.at ?? now;
    const gap = (index: number) => (at(index + 1) - at(index - 1)) / (now - at(index - 1));
    let least = 1;
    for (let index = 2; index < this.#pending.length - 1; index++) {
      if (gap(index) < gap(least)) least = index;
    }
    this.#pending.splice(least, 1);
  }

  #settle(now: number): void {
    const replayed = this.#replayed;
    if (replayed === undefined) return;
    const behind = this.#pending.findIndex(({ lsn }) => lsn > replayed);
    const done = behind === -1 ? this.#pending.length : behind;
    const newest = this.#pending[done - 1];
    if (newest) this.#caughtUpAt = behind === -1 ? now : newest.at;
    this.#pending.splice(0, done);
  }
}
