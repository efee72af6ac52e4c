import { failureCode } from '../shards/database-failure.js';
import type { Pin } from './pin.js';

/** Where lines go. */
export interface Lines {
  log(line: string): void;
  warn(line: string): void;
}

/** One key of a change; `before` and `after` are undefined without a row. */
export interface PinChange {
  readonly key: string;
  /** Left out where it is not known. */
  readonly before?: Pin | undefined;
  readonly after: Pin | undefined;
}

/** So many lines of changed pins in each period: writers of the directory decide how many there would be. */
const MOST_LINES = 20;
const PERIOD_MS = 10_000;

/** What the log says of a directory: each trouble once and its end once, and changes of pins, not more than a few at a time. */
export class DirectoryLog {
  /** Since when nobody answers. */
  staleSince: Date | undefined;
  readonly #lines: Lines;
  #deaf = false;
  #left = 0;
  #untold = 0;
  #periodEnds = -Infinity;

  constructor(lines: Lines) {
    this.#lines = lines;
  }

  /** Nobody answers. */
  unanswered(error: Error, consequence: string): void {
    if (this.staleSince) return;
    this.staleSince = new Date();
    this.#lines.warn(`the directory cannot be read (${reasonOf(error)}): ${consequence}`);
  }

  answered(): void {
    if (!this.staleSince) return;
    this.staleSince = undefined;
    this.#lines.log('the directory answers again');
  }

  /** The connection that listens cannot be had, and the pool answers. */
  deaf(error: Error): void {
    if (this.#deaf) return;
    this.#deaf = true;
    this.#lines.warn(
      `nobody listens for changes of the directory (${reasonOf(error)}): they are asked for through the pool, and take effect seconds later. Is maintenance_url right?`,
    );
  }

  listens(): void {
    if (!this.#deaf) return;
    this.#deaf = false;
    this.#lines.log('changes of the directory are listened for again');
  }

  /** Pins that changed, up to a revision. */
  changed(changes: readonly PinChange[], revision: number): void {
    for (const change of changes) {
      if (!('before' in change) || change.before !== change.after)
        this.#say(`${sentence(change)} (revision ${revision})`);
    }
  }

  /** Too many changed to say which: all were read. */
  reread(rows: number | undefined, revision: number): void {
    const known = rows === undefined ? 'each key is looked up anew' : `all ${rows} were read`;
    this.#say(`many pins changed: ${known} (revision ${revision})`);
  }

  /** Says what was left out, once its period is over. */
  tick(): void {
    if (performance.now() < this.#periodEnds) return;
    const untold = this.#untold;
    [this.#untold, this.#left, this.#periodEnds] = [0, MOST_LINES, performance.now() + PERIOD_MS];
    if (untold > 0) this.#lines.log(`${untold} more changes of pins: _sharding_placement_log has them`);
  }

  #say(line: string): void {
    this.tick();
    if (this.#left > 0) {
      this.#left--;
      this.#lines.log(line);
    } else this.#untold++;
  }
}

function sentence(change: PinChange): string {
  const from = 'before' in change ? `${placeOf(change.before)} -> ` : '';
  return `key ${JSON.stringify(change.key)}: ${from}${placeOf(change.after)}`;
}

function placeOf(pin: Pin | undefined): string {
  if (!pin) return 'no row';
  const group = pin.group === undefined ? [] : [`group ${pin.group}`];
  const shard = pin.shard === undefined ? [] : [printed(pin.shard)];
  return [...shard, ...group].join(' in ');
}

/** Rows by raw SQL may name anything. */
function printed(name: string): string {
  return /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
}

/** Without the text of the driver: it can name hosts. */
function reasonOf(error: Error): string {
  return (
    failureCode(error) ?? (error.message === 'timeout expired' ? 'no answer in time' : 'connection failed')
  );
}
