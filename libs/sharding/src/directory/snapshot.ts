import { hashOfString, slotOf } from '@app/routing';
import { KeyTable } from './key-table.js';
import { PinValues } from './pin.js';
import type { PinChange } from './directory-log.js';
import type { ChangeRow, PinRow } from './directory-statements.js';
import type { Pin } from './pin.js';

/** Every pin of the directory, in memory. */
export class Snapshot {
  readonly #pins = new KeyTable<Pin>();
  readonly #values = new PinValues();
  /** Keys by slot; made when first asked for. */
  #slots: Map<number, Set<string>> | undefined;

  /** Of the database, as far as it was applied. */
  revision: number;

  constructor(revision: number) {
    this.revision = revision;
  }

  get size(): number {
    return this.#pins.size;
  }

  /** @param hash `hashOfString` of the key */
  get(key: string, hash: number): Pin | undefined {
    return this.#pins.get(key, hash);
  }

  entries(): IterableIterator<[string, Pin]> {
    return this.#pins.entries();
  }

  add(rows: readonly PinRow[]): void {
    for (const row of rows) this.#set(row.routing_key, this.#values.of(row));
  }

  /** @returns what changed, or `everything` where the rows do not say which: nothing was applied then */
  apply(rows: readonly ChangeRow[]): PinChange[] | 'everything' {
    if (rows.some(({ changes, changed }) => changes && changed === null)) return 'everything';
    const changes = new Map<string, PinChange>(); // a key that changed twice is there twice, as it is now
    for (const row of rows) {
      const key = row.changed;
      if (key === null || changes.has(key)) continue;
      const after = row.pinned ? this.#values.of(row) : undefined;
      changes.set(key, { key, before: this.get(key, hashOfString(key)), after });
      if (after) this.#set(key, after);
      else this.#delete(key);
    }
    return [...changes.values()];
  }

  /** The shards that keys of a slot are pinned to, ordered. */
  shardsOfSlot(slot: number): string[] {
    const keys = (this.#slots ??= this.#indexed()).get(slot) ?? [];
    const shards = new Set<string>();
    for (const key of keys) {
      const shard = this.#pins.get(key, hashOfString(key))?.shard;
      if (shard !== undefined) shards.add(shard);
    }
    return [...shards].toSorted();
  }

  #set(key: string, pin: Pin): void {
    this.#pins.set(key, pin);
    if (this.#slots) index(this.#slots, key);
  }

  #delete(key: string): void {
    this.#pins.delete(key);
    if (this.#slots) this.#slots.get(slotOf(key))?.delete(key);
  }

  #indexed(): Map<number, Set<string>> {
    const slots = new Map<number, Set<string>>();
    for (const key of this.#pins.keys()) index(slots, key);
    return slots;
  }
}

function index(slots: Map<number, Set<string>>, key: string): void {
  const slot = slotOf(key);
  const keys = slots.get(slot);
  if (keys) keys.add(key);
  else slots.set(slot, new Set([key]));
}
