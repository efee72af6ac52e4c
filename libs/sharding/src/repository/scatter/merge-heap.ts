/** A binary heap: the k-way merge of sources that are sorted each. Its size is the number of sources. */
export class MergeHeap<T> {
  readonly #items: T[] = [];

  constructor(private readonly compare: (a: T, b: T) => number) {}

  get size(): number {
    return this.#items.length;
  }

  push(item: T): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#less(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  /** Takes the least item out; undefined when there is none. */
  pop(): T | undefined {
    const items = this.#items;
    const least = items[0];
    const last = items.pop();
    if (items.length > 0 && last !== undefined) {
      items[0] = last;
      this.#sink();
    }
    return least;
  }

  #sink(): void {
    const { length } = this.#items;
    for (let at = 0; ;) {
      const left = 2 * at + 1;
      const right = left + 1;
      let least = at;
      if (left < length && this.#less(left, least)) least = left;
      if (right < length && this.#less(right, least)) least = right;
      if (least === at) return;
      this.#swap(at, least);
      at = least;
    }
  }

  #less(a: number, b: number): boolean {
    return this.compare(this.#items[a] as T, this.#items[b] as T) < 0;
  }

  #swap(a: number, b: number): void {
    const items = this.#items;
    [items[a], items[b]] = [items[b] as T, items[a] as T];
  }
}

/** Merges sorted lists, lazily: what is not asked for is not compared. */
export function* mergeSorted<T>(
  lists: readonly (readonly T[])[],
  compare: (a: T, b: T) => number,
): Generator<T> {
  interface Head {
    readonly item: T;
    readonly rest: Iterator<T>;
  }
  const heap = new MergeHeap<Head>((a, b) => compare(a.item, b.item));
  const advance = (rest: Iterator<T>) => {
    const next = rest.next();
    if (next.done !== true) heap.push({ item: next.value, rest });
  };
  for (const list of lists) advance(list[Symbol.iterator]());
  for (let head = heap.pop(); head; head = heap.pop()) {
    yield head.item;
    advance(head.rest);
  }
}
