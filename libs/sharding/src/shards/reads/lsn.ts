/** A position in the write-ahead log, in bytes. */
export type Lsn = bigint;

const TEXT = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i;

/** Reads PostgreSQL's `16/B374D848`; undefined for anything else. */
export function parseLsn(text: unknown): Lsn | undefined {
  const [, high, low] = (typeof text === 'string' && TEXT.exec(text)) || [];
  if (high === undefined || low === undefined) return undefined;
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

/** How much of the log that is written is not replayed, in bytes; undefined where either position is not known. */
export function bytesBehind(replayed: unknown, written: unknown): number | undefined {
  const [own, its] = [parseLsn(replayed), parseLsn(written)];
  if (own === undefined || its === undefined) return undefined;
  return its > own ? Number(its - own) : 0;
}
