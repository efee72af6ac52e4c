import { parseLsn } from './lsn.js';
import type { StandingConnection } from '../standing-connection.js';
import type { Lsn } from './lsn.js';

/** Bound of one question to the primary, once its turn has come. */
const ASK_LIMIT_MS = 2000;

/** The position, also as the byte in its file, and the size of the file's pages. */
const POSITION = `select lsn::text as lsn, (pg_walfile_name_offset(lsn)).file_offset as byte,
  current_setting('wal_block_size')::int as page from pg_current_wal_insert_lsn() as lsn`;

interface PositionRow {
  readonly lsn: string;
  readonly byte: number;
  readonly page: number;
}

/** Bytes that begin every page of the log, and those that begin its files. */
const PAGE_HEADER = 24;
const FILE_HEADER = 40;

/**
 * Where the primary's write-ahead log ends now. Questions that come while one is under way share the next one: an
 * answer counts only for what was written before it was asked for.
 */
export class WalPosition {
  #asking: Promise<Lsn> | undefined;
  #next: Promise<Lsn> | undefined;

  /** @param seen is told each position */
  constructor(
    private readonly primary: StandingConnection,
    private readonly seen: (lsn: Lsn) => void,
  ) {}

  /** @throws the driver's error when the primary does not answer, or is no primary */
  current(): Promise<Lsn> {
    const asking = this.#asking;
    if (!asking) return this.#ask(ASK_LIMIT_MS);
    return (this.#next ??= asking.then(
      () => this.#ask(ASK_LIMIT_MS),
      () => this.#ask(ASK_LIMIT_MS),
    ));
  }

  /** {@link current} with a bound of one's own. */
  async sample(limitMs: number): Promise<void> {
    await (this.#asking ?? this.#ask(limitMs));
  }

  #ask(limitMs: number): Promise<Lsn> {
    this.#next = undefined;
    const asking = this.#question(limitMs).finally(() => {
      if (this.#asking === asking) this.#asking = undefined;
    });
    return (this.#asking = asking);
  }

  async #question(limitMs: number): Promise<Lsn> {
    const [row] = await this.primary.query<PositionRow>(POSITION, limitMs);
    const lsn = endOfLog(row);
    if (lsn === undefined) throw new Error('the primary gave no position');
    this.seen(lsn);
    return lsn;
  }
}

/**
 * Where the last record ends. Where that is the end of a page the primary names the place of the next record, behind the
 * header of the next page; a replica that has replayed everything stands before the header, for as long as nothing is written.
 */
function endOfLog(row: PositionRow | undefined): Lsn | undefined {
  const lsn = parseLsn(row?.lsn);
  if (!row || lsn === undefined) return undefined;
  if (row.byte === FILE_HEADER) return lsn - BigInt(FILE_HEADER);
  return row.byte % row.page === PAGE_HEADER ? lsn - BigInt(PAGE_HEADER) : lsn;
}
