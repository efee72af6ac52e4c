/** A table whose rows move, and the column that holds their routing key. */
export interface MovingTable {
  readonly schema: string;
  readonly name: string;
  readonly key: string;
}

/** A move of rows that has not ended: until then they may be on two shards. */
export interface OpenMove {
  readonly source: string;
  readonly destination: string;
  readonly group: number;
  /** How the keys are hashed. */
  readonly keyKind: 'text' | 'integer';
  readonly tables: readonly MovingTable[];
  /** Routed one by one: what moves, or keys of the slots that were pinned since the move was planned. */
  readonly keys: readonly string[];
  /** What moves as a whole. */
  readonly slots: readonly number[];
  /** Keys of the slots that do not follow the slot map. */
  readonly pinned: readonly string[];
}

/** The open moves, for one read of all shards. */
export interface HeldMoves {
  readonly moves: readonly OpenMove[];
  /**
   * To be asked before an answer is given, where no mover knows of the read: whether it went by what is still true.
   *
   * @throws ShardingError `shard_moved` where moves began or ended meanwhile
   */
  check?(): Promise<void>;
  /** The read has ended: until then no other move begins to copy rows, and none deletes them. */
  end(): void;
}

/** Nothing moves. */
export const NO_MOVES: HeldMoves = { moves: [], end: () => undefined };
