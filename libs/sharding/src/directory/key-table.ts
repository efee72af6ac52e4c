import { hashOfString } from '@app/routing';

/** Cells of an empty table; always a power of two. */
const SMALLEST = 16;
/** 2^32 divided by the golden ratio: spreads hashes that differ in few bits (Knuth, TAOCP 3, 6.4). */
const SPREAD = 0x9e3779b1 | 0;

/**
 * A map from strings for look-ups that mostly find nothing. The hash is the caller's, who needs it for the slot anyway;
 * beside it stands the number of the row, so that a key that is not there costs one or two cells and no string, where a `Map`
 * of a hundred thousand follows its chains through memory. Open addressing with linear probing, at most half full; a deletion
 * closes its gap (Knuth, TAOCP 3, algorithm 6.4R).
 */
export class KeyTable<V> {
  /** For each cell a hash and a row number counted from 1; 0 is an empty cell. */
  #cells = new Int32Array(2 * SMALLEST);
  #mask = SMALLEST - 1;
  #shift = 32 - Math.log2(SMALLEST);
  /** The key and the value of each row, side by side: who needs one needs the other. */
  readonly #rows: (string | V)[] = [];

  get size(): number {
    return this.#rows.length / 2;
  }

  /** @param hash {@link hashOfString} of the key */
  get(key: string, hash: number): V | undefined {
    const cells = this.#cells;
    const mask = this.#mask;
    let cell = Math.imul(hash, SPREAD) >>> this.#shift;
    for (;;) {
      const row = cells[2 * cell + 1] as number;
      if (row === 0) return undefined;
      if (cells[2 * cell] === hash && this.#rows[2 * row - 2] === key) return this.#rows[2 * row - 1] as V;
      cell = (cell + 1) & mask;
    }
  }

  set(key: string, value: V): void {
    const hash = hashOfString(key);
    const cell = this.#find(key, hash);
    const row = this.#row(cell);
    if (row > 0) {
      this.#rows[2 * row - 1] = value;
      return;
    }
    this.#rows.push(key, value);
    this.#put(cell, hash, this.size);
    if (2 * this.size > this.#mask) this.#grow();
  }

  /** @returns whether it was there */
  delete(key: string): boolean {
    const cell = this.#find(key, hashOfString(key));
    const row = this.#row(cell);
    if (row === 0) return false;
    this.#fillRow(row);
    this.#closeGap(cell);
    return true;
  }

  *keys(): IterableIterator<string> {
    for (let at = 0; at < this.#rows.length; at += 2) yield this.#rows[at] as string;
  }

  *entries(): IterableIterator<[string, V]> {
    for (let at = 0; at < this.#rows.length; at += 2) {
      yield [this.#rows[at] as string, this.#rows[at + 1] as V];
    }
  }

  #row(cell: number): number {
    return this.#cells[2 * cell + 1] as number;
  }

  #put(cell: number, hash: number, row: number): void {
    this.#cells[2 * cell] = hash;
    this.#cells[2 * cell + 1] = row;
  }

  #home(hash: number): number {
    return Math.imul(hash, SPREAD) >>> this.#shift;
  }

  /** The cell of a key, or the empty one where it belongs. */
  #find(key: string, hash: number): number {
    let cell = this.#home(hash);
    for (;;) {
      const row = this.#row(cell);
      if (row === 0 || (this.#cells[2 * cell] === hash && this.#rows[2 * row - 2] === key)) return cell;
      cell = (cell + 1) & this.#mask;
    }
  }

  /** The last row takes the place of one that goes. */
  #fillRow(row: number): void {
    const value = this.#rows.at(-1) as V;
    const key = this.#rows.at(-2) as string;
    const hash = hashOfString(key);
    this.#put(this.#find(key, hash), hash, row);
    this.#rows[2 * row - 2] = key;
    this.#rows[2 * row - 1] = value;
    this.#rows.length -= 2;
  }

  /** Cells behind the gap move up as far as they are not before their home. */
  #closeGap(empty: number): void {
    const mask = this.#mask;
    let gap = empty;
    for (let cell = (gap + 1) & mask; this.#row(cell) !== 0; cell = (cell + 1) & mask) {
      const hash = this.#cells[2 * cell] as number;
      const away = (cell - this.#home(hash)) & mask;
      if (away < ((cell - gap) & mask)) continue;
      this.#put(gap, hash, this.#row(cell));
      gap = cell;
    }
    this.#put(gap, 0, 0);
  }

  #grow(): void {
    const old = this.#cells;
    this.#cells = new Int32Array(2 * old.length);
    this.#mask = 2 * this.#mask + 1;
    this.#shift--;
    for (let cell = 0; cell < old.length; cell += 2) {
      const row = old[cell + 1] as number;
      if (row === 0) continue;
      const hash = old[cell] as number;
      let to = this.#home(hash);
      while (this.#row(to) !== 0) to = (to + 1) & this.#mask;
      this.#put(to, hash, row);
    }
  }
}
