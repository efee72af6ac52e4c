import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addDecimals, canonicalDecimal, compareDecimals, decimalOf, decimalText } from './decimal.js';

const finite = fc
  .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 40n }), fc.integer({ min: 0, max: 30 }))
  .map(([negative, digits, scale]) => decimalText({ units: negative ? -digits : digits, scale }));
const any = fc.oneof({ weight: 5, arbitrary: finite }, fc.constantFrom('NaN', 'Infinity', '-Infinity'));

/** In units of 10^-30, exact. */
const scaled = (text: string) => {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.');
  const units = BigInt(whole + fraction.padEnd(30, '0'));
  return text.startsWith('-') ? -units : units;
};

describe('decimals', () => {
  it('are read and printed as they are', () => {
    fc.assert(fc.property(any, (text) => expect(decimalText(decimalOf(text))).toBe(text)));
  });

  it.each(['', '1e5', '1.', '.5', '+1', 'nan', '0x1', '1 '])('are not %j', (text) => {
    expect(() => decimalOf(text)).toThrow(RangeError);
  });

  it('compare as rational numbers do', () => {
    fc.assert(
      fc.property(finite, finite, (a, b) => {
        const [left, right] = [scaled(a), scaled(b)];
        expect(Math.sign(compareDecimals(decimalOf(a), decimalOf(b)))).toBe(
          left < right ? -1 : left > right ? 1 : 0,
        );
      }),
    );
  });

  it('add exactly, with the greater scale', () => {
    fc.assert(
      fc.property(finite, finite, (a, b) => {
        const sum = decimalText(addDecimals(decimalOf(a), decimalOf(b)));
        expect(scaled(sum)).toBe(scaled(a) + scaled(b));
        const scale = (text: string) => text.split('.')[1]?.length ?? 0;
        expect(scale(sum)).toBe(Math.max(scale(a), scale(b)));
      }),
    );
  });

  it('have one canonical text for each value', () => {
    fc.assert(
      fc.property(any, any, (a, b) => {
        const same = canonicalDecimal(decimalOf(a)) === canonicalDecimal(decimalOf(b));
        expect(same).toBe(compareDecimals(decimalOf(a), decimalOf(b)) === 0);
      }),
    );
  });

  it.each([
    ['1.10', '1.1', 0],
    ['-0.00', '0', 0],
    ['NaN', 'NaN', 0],
    ['NaN', 'Infinity', 1],
    ['Infinity', '1e'.replace('e', '0'.repeat(60)), 1],
    ['-Infinity', '-5', -1],
  ])('%s against %s is %i', (a, b, order) => {
    expect(Math.sign(compareDecimals(decimalOf(a), decimalOf(b)))).toBe(order);
  });

  it.each([
    ['NaN', '1', 'NaN'],
    ['Infinity', '1', 'Infinity'],
    ['Infinity', 'Infinity', 'Infinity'],
    ['Infinity', '-Infinity', 'NaN'],
    ['-0.5', '0.50', '0.00'],
  ])('%s and %s make %s', (a, b, sum) => {
    expect(decimalText(addDecimals(decimalOf(a), decimalOf(b)))).toBe(sum);
  });

  it.each([
    ['100', '100'],
    ['1.10', '1.1'],
    ['1.00', '1'],
    ['-0.0', '0'],
    ['0.001', '0.001'],
  ])('%s is canonically %s', (text, canonical) => expect(canonicalDecimal(decimalOf(text))).toBe(canonical));
});
