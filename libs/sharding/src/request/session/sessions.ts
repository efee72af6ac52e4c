import { SessionTokens } from './session-token.js';
import type { CausalMark, CausalMarks } from '../../shards/reads/causal-marks.js';
import type { Lsn } from '../../shards/reads/lsn.js';
import type { Reads } from '../../shards/reads/reads.js';
import type { ReadSettings } from '../../sharding.settings.js';
import type { SessionEntry } from './session-token.js';

/** How long a response waits for the positions of its writes; what is not known then is told so. */
const SETTLE_LIMIT_MS = 500;
/** So many tokens of one request are looked at. */
const MAX_TOKENS = 8;

/** What sessions need of a replica. */
export interface SessionReplica {
  readonly wal: { current(): Promise<Lsn> };
  hasReplayed(lsn: Lsn): boolean;
}

/** A primary with a replica. */
export interface SessionPlace {
  readonly name: string;
  readonly primary: object;
  readonly replica: SessionReplica;
}

/** Carries what contexts have written from one to the next, as signed tokens. Without places it does nothing. */
export class Sessions {
  readonly #tokens: SessionTokens | undefined;
  readonly #byName: ReadonlyMap<string, SessionPlace>;
  readonly #byPrimary: ReadonlyMap<object, SessionPlace>;

  constructor(tokens: SessionTokens | undefined, places: readonly SessionPlace[]) {
    this.#tokens = tokens;
    this.#byName = new Map(places.map((place) => [place.name, place]));
    this.#byPrimary = new Map(places.map((place) => [place.primary, place]));
  }

  static create({ readYourWrites, sessionSecret }: ReadSettings, reads: readonly Reads[]): Sessions {
    const on = readYourWrites === 'session' && sessionSecret !== undefined;
    const places = reads.flatMap(({ primary, replica }) =>
      replica ? [{ name: nameOf(primary.place.target), primary, replica }] : [],
    );
    return on ? new Sessions(new SessionTokens(sessionSecret), places) : new Sessions(undefined, []);
  }

  /** False without `session`, and where no primary has a replica. */
  get active(): boolean {
    return this.#tokens !== undefined && this.#byName.size > 0;
  }

  /** Lets a context see what the makers of `tokens` have written. What is not ours is ignored. */
  admit(marks: CausalMarks, tokens: readonly string[]): void {
    for (const token of tokens.slice(0, MAX_TOKENS)) {
      const claim = this.#tokens?.read(token) ?? [];
      const entries = claim === 'all' ? this.#everything() : claim;
      for (const { name, position } of entries) {
        const place = this.#byName.get(name);
        if (!place) continue; // a shard that is no more
        const mark = marks.of(place.primary);
        if (position === 'unknown') mark.suspect();
        else mark.carry(position);
      }
    }
  }

  /**
   * Asks, at once and for a short time, every primary whose position a token would need and nobody has asked for since
   * the last write. Undefined where there is nothing to ask. Never rejects.
   */
  settle(marks: CausalMarks): Promise<void> | undefined {
    if (!this.active) return undefined;
    const open = this.#written(marks).flatMap(({ place, dirty }) =>
      dirty
        .filter((mark) => mark.known === undefined)
        .map((mark) => mark.position(() => place.replica.wal.current())),
    );
    return open.length === 0 ? undefined : atMost(SETTLE_LIMIT_MS, Promise.allSettled(open));
  }

  /** What a later context needs to see what this one has written and what it was brought; undefined for nothing. */
  token(marks: CausalMarks): string | undefined {
    return this.#tokens?.write(this.#written(marks).flatMap((use) => entryOf(use)));
  }

  #written(marks: CausalMarks): PlaceUse[] {
    return [...marks.primaries()].flatMap((primary) => {
      const place = this.#byPrimary.get(primary);
      if (!place) return [];
      const covering = marks.covering(primary);
      return [{ place, covering, dirty: covering.filter((mark) => mark.dirty) }];
    });
  }

  #everything(): SessionEntry[] {
    return [...this.#byName.keys()].map((name) => ({ name, position: 'unknown' }));
  }
}

interface PlaceUse {
  readonly place: SessionPlace;
  readonly covering: readonly CausalMark[];
  readonly dirty: readonly CausalMark[];
}

/** A position of now says more than one that was carried, which may be of a primary that is no more. */
function entryOf({ place: { name, replica }, covering, dirty }: PlaceUse): SessionEntry[] {
  if (dirty.length > 0) {
    const known = dirty.map((mark) => mark.known);
    if (known.includes(undefined)) return [{ name, position: 'unknown' }];
    const position = highest(known);
    return [{ name, position, replayed: replica.hasReplayed(position) }];
  }
  const carried = covering.map((mark) => mark.carried).filter((lsn) => lsn !== undefined);
  const position = highest(carried);
  return carried.length === 0 || replica.hasReplayed(position) ? [] : [{ name, position }];
}

function highest(positions: readonly (Lsn | undefined)[]): Lsn {
  return positions.reduce<Lsn>((most, lsn) => (lsn !== undefined && lsn > most ? lsn : most), 0n);
}

/** A shard may be called `control`, too. */
function nameOf(target: string): string {
  return target === 'control' ? '@control' : target.replace(/^shard:/, '');
}

async function atMost(limitMs: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, limitMs)));
  await Promise.race([work, late]);
  clearTimeout(timer);
}
