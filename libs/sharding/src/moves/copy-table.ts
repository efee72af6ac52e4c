import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import copyStreams, { type CopyStreamQuery, type CopyToStreamQuery } from 'pg-copy-streams';
import { quotedTable } from './quoted.js';
import { copiedColumns, filterOf, type MovedRows } from './scope-filter.js';
import type { MoveSession } from './move-session.js';
import type { MovedTable } from './tables/moved-table.js';

export interface TableCopy {
  readonly source: MoveSession;
  readonly destination: MoveSession;
  readonly rows: MovedRows;
  /** Rows per second. */
  readonly throttle: number | null;
  readonly signal: AbortSignal;
  readonly progress: (bytes: number) => void;
}

/**
 * Streams the rows of a move from one open transaction into another, as the server writes them: no value passes through a
 * JavaScript type. Only as much is in memory as the sockets hold. After a failure the session of the source has ended: it
 * would have to read the rest first.
 *
 * @returns how many rows the destination has taken
 */
export async function copyTable(table: MovedTable, copy: TableCopy): Promise<number> {
  const format = copy.throttle === null ? table.format : 'text'; // a row has one line break there
  const columns = copiedColumns(table);
  const filter = await filterOf(copy.source, table, copy.rows);
  const rows = `select ${columns} from ${quotedTable(table)} where ${filter}`;
  const out = copyStreams.to(`copy (${rows}) to stdout (format ${format})`);
  const into = copyStreams.from(`copy ${quotedTable(table)} (${columns}) from stdin (format ${format})`);
  try {
    await piped(out, into, copy);
  } catch (error) {
    void copy.source.client.end().catch(() => undefined);
    throw error;
  }
  return into.rowCount;
}

/** Meanwhile the watch of each session is told whose turn it is. */
async function piped(out: CopyToStreamQuery, into: CopyStreamQuery, copy: TableCopy): Promise<void> {
  const { source, destination, throttle, signal, progress } = copy;
  const given = { bytes: 0, all: false };
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      given.bytes += chunk.length;
      progress(chunk.length);
      done(undefined, chunk);
    },
    flush(done) {
      given.all = true;
      done();
    },
  });
  let seen = 0;
  const stalled = () => {
    const before = seen;
    seen = given.bytes;
    return seen === before && !out.readableEnded && out.readableLength === 0;
  };
  const ends = [
    awaiting(source, () => (stalled() ? 'answer' : 'nothing')), // rows may be on their way for long
    awaiting(destination, (taken) => {
      if (taken < given.bytes) return 'uptake';
      return given.all ? 'answer' : 'nothing';
    }),
  ];
  const slowed = throttle === null ? [] : [throttled(throttle, signal)];
  try {
    const [from, to] = [source.client.query(out), destination.client.query(into)];
    await pipeline([from, ...slowed, counted, to], { signal });
  } finally {
    for (const end of ends) end();
  }
}

/** Tells the watch of a session what is waited for, until the returned function is called. */
function awaiting(session: MoveSession, awaits: MoveSession['awaits']): () => void {
  const before = session.awaits;
  session.awaits = awaits;
  return () => void (session.awaits = before);
}

const LINE_BREAK = 10;

/** Lets through so many lines per second. */
function throttled(rowsPerSecond: number, signal: AbortSignal): Transform {
  const began = performance.now();
  let rows = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      for (const byte of chunk) if (byte === LINE_BREAK) rows++;
      const early = (rows * 1000) / rowsPerSecond - (performance.now() - began);
      if (early < 1) return done(undefined, chunk);
      pause(early, undefined, { signal }).then(
        () => done(undefined, chunk),
        (error: unknown) => done(error as Error),
      );
    },
  });
}
