import type { Topology, TopologyShard } from '@app/routing';

/** What the directory says of one key: a shard, a group, or both. */
export interface Pin {
  /** The name of a shard; it may be one that is not configured. */
  readonly shard: string | undefined;
  /** The group that the key belongs to. */
  readonly group: number | undefined;
}

/** The columns of `_sharding_directory` that routing reads. */
export interface PinColumns {
  readonly shard_name: string | null;
  readonly group_id: number | null;
}

/** What routing has found of a pin, kept with it: a route of a pinned key looks nothing else up. */
export class SharedPin implements Pin {
  #topology: Topology | undefined;
  #place: TopologyShard | undefined;

  constructor(
    readonly shard: string | undefined,
    readonly group: number | undefined,
  ) {}

  /** Where the pin leads where nobody states another group; undefined: it was not settled yet. */
  placeIn(topology: Topology): TopologyShard | undefined {
    return topology === this.#topology ? this.#place : undefined;
  }

  settle(topology: Topology, place: TopologyShard): void {
    this.#topology = topology;
    this.#place = place;
  }
}

/** Pins that say the same are one object: a hundred thousand of them are a hundred thousand keys and few values. */
export class PinValues {
  readonly #byText = new Map<string, Pin>();

  of({ shard_name, group_id }: PinColumns): Pin {
    const text = `${group_id ?? ''}/${shard_name ?? ''}`;
    const known = this.#byText.get(text);
    if (known) return known;
    const pin = new SharedPin(shard_name ?? undefined, group_id ?? undefined);
    if (this.#byText.size < MAX_VALUES) this.#byText.set(text, pin);
    return pin;
  }
}

/** Far more than there are shards; rows with invented names are not kept for ever. */
const MAX_VALUES = 10_000;
