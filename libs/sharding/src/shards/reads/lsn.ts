/** A position in the write-ahead log, in bytes. */
export type Lsn = bigint;

const TEXT = /^([0-9A-F]{1,8})\/([0-9A-F]{1,8})$/i;

/** Reads PostgreSQL's `16/B374D848`; undefined for anything else. */
export function parseLsn(text: unknown): Lsn | undefined {
  const [, high, low] = (typeof text === 'string' && TEXT.exec(text)) || [];
  if (high === undefined || low === undefined) return undefined;
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}
