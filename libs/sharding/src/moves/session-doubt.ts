/** What a server tells of one of its sessions. */
export interface SessionLook {
  /** As in `pg_stat_activity`. */
  readonly state: string;
  /** When it came into this state: the same text for the same moment. */
  readonly since: string;
  /** The type of what it waits for. */
  readonly waits: string | null;
  /** Bytes that its running COPY has sent, or has taken. */
  readonly copied: number;
}

/**
 * What this end waits for: the end of a statement, or rows of it, which may take long; that bytes of a COPY are taken, which is
 * quick; or nothing, because it is this end's turn.
 */
export type Awaited = 'answer' | 'uptake' | 'nothing';

/** A sign that an answer will never come. */
export interface Doubt {
  /** What is then true, behind the name of the shard. */
  readonly what: string;
  /** As long as it stays the same, nothing has moved. */
  readonly evidence: string;
  /** How many looks in a row make it certain. */
  readonly looks: number;
}

const TWICE = 2;
/** Locks have a time limit of their own; a trigger, or an index, may take its time with one batch of rows. */
const PATIENT = 60;

export const SILENT: Doubt = { what: 'does not answer any more', evidence: 'silent', looks: TWICE };
export const GONE: Doubt = { what: 'has ended the session of the mover', evidence: 'gone', looks: TWICE };

/** What a look tells against a session that `awaited` says; undefined where it may be at work. */
export function doubtOf({ state, since, waits, copied }: SessionLook, awaited: Awaited): Doubt | undefined {
  if (awaited === 'nothing') return undefined;
  const evidence = `${state} ${since} ${waits} ${copied}`;
  if (state.startsWith('idle')) {
    return { what: 'has done what it was asked, and its answer was lost', evidence, looks: TWICE };
  }
  if (waits === 'Client') {
    return { what: 'waits for the mover, which waits for it: what was sent is lost', evidence, looks: TWICE };
  }
  if (awaited === 'answer' || waits === 'Lock') return undefined;
  return { what: 'takes no more rows, and does not say why', evidence, looks: PATIENT };
}
