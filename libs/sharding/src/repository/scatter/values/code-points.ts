/**
 * The order of PostgreSQL's collation "C" on a UTF-8 database: that of the UTF-8 bytes, which is that of the code points.
 * JavaScript compares UTF-16 units instead and puts what is beyond U+FFFF before U+E000.
 */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return lifted(left) - lifted(right);
  }
  return a.length - b.length;
}

/** Surrogates above the rest of the plane. */
function lifted(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}
