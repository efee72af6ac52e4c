import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import copyStreams from 'pg-copy-streams';
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
 * JavaScript type. Only as much is in memory as the sockets hold.
 *
 * @returns how many rows the destination has taken
 */
export async function copyTable(table: MovedTable, copy: TableCopy): Promise<number> {
  const format = copy.throttle === null ? table.format : 'text'; // a row has one line break there
  const columns = copiedColumns(table);
  const filter = await filterOf(copy.source, table, copy.rows);
  const rows = `select ${columns} from ${quotedTable(table)} where ${filter}`;
  const out = copy.source.client.query(copyStreams.to(`copy (${rows}) to stdout (format ${format})`));
  const into = copy.destination.client.query(
    copyStreams.from(`copy ${quotedTable(table)} (${columns}) from stdin (format ${format})`),
  );
  const throttle = copy.throttle === null ? [] : [throttled(copy.throttle, copy.signal)];
  await pipeline([out, counted(copy.progress), ...throttle, into], { signal: copy.signal });
  return into.rowCount;
}

function counted(progress: (bytes: number) => void): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      progress(chunk.length);
      done(undefined, chunk);
    },
  });
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
