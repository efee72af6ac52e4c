/**
 * PostgreSQL's `numeric` without loss: `units * 10^-scale`, or one of the values that are no number. The scale is part of
 * it, as in PostgreSQL: `1.0` and `1.00` are equal and print differently.
 */
export type Decimal = { readonly units: bigint; readonly scale: number } | 'NaN' | 'Infinity' | '-Infinity';

const FINITE = /^(-?)(\d+)(?:\.(\d+))?$/;

/** @param text as PostgreSQL prints a numeric: no exponent. @throws RangeError for anything else */
export function decimalOf(text: string): Decimal {
  if (text === 'NaN' || text === 'Infinity' || text === '-Infinity') return text;
  const [, sign, whole, fraction = ''] = FINITE.exec(text) ?? [];
  if (whole === undefined) throw new RangeError(`not a decimal: ${text}`);
  const units = BigInt(whole + fraction);
  return { units: sign === '-' ? -units : units, scale: fraction.length };
}

/** As PostgreSQL prints it. */
export function decimalText(decimal: Decimal): string {
  if (typeof decimal === 'string') return decimal;
  const { units, scale } = decimal;
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  const sign = units < 0n ? '-' : '';
  if (scale === 0) return sign + digits;
  return `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** Negative, 0 or positive. NaN equals itself and is the greatest, as PostgreSQL orders it. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  if (typeof a === 'string' || typeof b === 'string') return rank(a) - rank(b);
  const [left, right] = aligned(a, b);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** As PostgreSQL adds: the result has the greater scale; infinities of both signs make NaN. */
export function addDecimals(a: Decimal, b: Decimal): Decimal {
  if (typeof a !== 'string' && typeof b !== 'string') {
    const [left, right] = aligned(a, b);
    return { units: left + right, scale: Math.max(a.scale, b.scale) };
  }
  if (typeof a !== 'string') return b;
  if (typeof b !== 'string') return a;
  return a === b ? a : 'NaN';
}

/** One text for all equal values: without zeros at the end. */
export function canonicalDecimal(decimal: Decimal): string {
  if (typeof decimal === 'string') return decimal;
  const text = decimalText(decimal);
  if (decimal.units === 0n) return '0';
  return decimal.scale === 0 ? text : text.replace(/\.?0+$/, '');
}

type Finite = Exclude<Decimal, string>;

function aligned(a: Finite, b: Finite): [bigint, bigint] {
  if (a.scale === b.scale) return [a.units, b.units];
  const scale = Math.max(a.scale, b.scale);
  return [a.units * 10n ** BigInt(scale - a.scale), b.units * 10n ** BigInt(scale - b.scale)];
}

function rank(decimal: Decimal): number {
  if (decimal === '-Infinity') return -1;
  if (decimal === 'Infinity') return 1;
  return decimal === 'NaN' ? 2 : 0;
}
