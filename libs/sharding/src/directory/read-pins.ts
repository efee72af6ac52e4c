import { changesSince, moreThan, pageOfPins, REVISION, wholeDirectory } from './directory-statements.js';
import { Snapshot } from './snapshot.js';
import type { ChangeRow, PinRow } from './directory-statements.js';
import type { Ask } from './follower.js';

const PAGE = 10_000;
/** Reading page by page is given up after so many times. */
const PAGED_TRIES = 2;

/** All pins; none where there are more than asked for. */
interface AllPins {
  readonly revision: number;
  readonly pins?: Snapshot;
}

/** Every pin, as of `askedAt` on the clock of `performance.now()`; none where there are more than `most`. */
export async function readAllPins(ask: Ask, most: number): Promise<AllPins & { readonly askedAt: number }> {
  for (let attempt = 1; attempt <= PAGED_TRIES; attempt++) {
    const { revision, pins } = await readSnapshot(ask, most);
    const askedAt = performance.now();
    if (!pins) return { revision, askedAt };
    const rows = await readChanges(ask, revision);
    if (pins.apply(rows) !== 'everything') return { revision: revisionOf(rows), pins, askedAt };
  }
  const askedAt = performance.now(); // they change faster than pages can be read
  return { ...(await readWholeSnapshot(ask, most)), askedAt };
}

/** Every pin, page by page, so that no statement takes long; changes made meanwhile are in {@link readChanges}. */
async function readSnapshot(ask: Ask, most: number): Promise<AllPins> {
  const revision = await readRevision(ask);
  const pins = new Snapshot(revision);
  let page: PinRow[];
  let after: string | undefined;
  do {
    page = await ask<PinRow>(pageOfPins(after, PAGE));
    pins.add(page);
    after = page.at(-1)?.routing_key;
    if (pins.size > most) return { revision };
  } while (page.length === PAGE);
  return { revision, pins };
}

/** The same in one statement, which no change can come into. */
async function readWholeSnapshot(ask: Ask, most: number): Promise<AllPins> {
  const rows = await ask<PinRow & { revision: string }>(wholeDirectory(most + 1));
  const [first] = rows;
  if (!first) throw noRevision();
  const revision = Number(first.revision);
  if (rows.length > most) return { revision };
  const pins = new Snapshot(revision);
  pins.add(rows.filter(({ routing_key }) => routing_key !== null));
  return { revision, pins };
}

/** One row at least; all carry the same revision. */
export async function readChanges(ask: Ask, since: number): Promise<ChangeRow[]> {
  const rows = await ask<ChangeRow>(changesSince(since));
  if (rows.length === 0) throw noRevision();
  return rows;
}

export async function readRevision(ask: Ask): Promise<number> {
  const [row] = await ask<{ revision: string }>(REVISION);
  if (!row) throw noRevision();
  return Number(row.revision);
}

export async function hasMoreThan(ask: Ask, most: number): Promise<boolean> {
  const [row] = await ask<{ count: number }>(moreThan(most));
  return (row?.count ?? 0) > most;
}

export function revisionOf([row]: readonly ChangeRow[]): number {
  return Number(row?.revision);
}

function noRevision(): Error {
  return new Error('the row of _sharding_revision is missing');
}
