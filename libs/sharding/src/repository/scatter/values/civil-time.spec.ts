import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { dateText, timestampText, timeText } from './civil-time.js';

it('agrees with the calendar of JavaScript where that reaches', () => {
  const ms = fc.integer({ min: Date.UTC(1000, 0, 1), max: Date.UTC(9999, 11, 31) });
  fc.assert(
    fc.property(ms, fc.integer({ min: 0, max: 999 }), (at, micros) => {
      const seconds = Math.floor(at / 1000);
      const fraction = String(at - seconds * 1000).padStart(3, '0') + String(micros).padStart(3, '0');
      const epoch = BigInt(seconds) * 1_000_000n + BigInt(fraction);
      const text = `${epoch < 0n ? '-' : ''}${String(epoch < 0n ? -epoch : epoch)
        .padStart(7, '0')
        .replace(/(\d{6})$/, '.$1')}`;
      const iso = new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');
      const shown = fraction.replace(/0+$/, '');
      expect(timestampText(text)).toBe(shown === '' ? iso : `${iso}.${shown}`);
    }),
    { numRuns: 2000 },
  );
});

it.each([
  ['0', '1970-01-01 00:00:00'],
  ['-0.000001', '1969-12-31 23:59:59.999999'],
  ['-62135596800', '0001-01-01 00:00:00'],
  ['-62135596800.5', '0001-12-31 23:59:59.5 BC'],
  ['-210866803200', '4714-11-24 00:00:00 BC'],
  ['9224318015999.999999', '294276-12-31 23:59:59.999999'],
  ['951782400', '2000-02-29 00:00:00'],
  ['Infinity', 'infinity'],
  ['-Infinity', '-infinity'],
])('the timestamp %s is %s', (epoch, text) => expect(timestampText(epoch)).toBe(text));

it('puts the zone before the era', () => {
  expect(timestampText('-62135596800.5', '+00')).toBe('0001-12-31 23:59:59.5+00 BC');
});

it.each([
  ['0', '1970-01-01'],
  ['185331706992000', '5874897-12-31'],
  ['-62167219200', '0001-01-01 BC'],
  ['Infinity', 'infinity'],
])('the date %s is %s', (epoch, text) => expect(dateText(epoch)).toBe(text));

it.each([
  ['0.000000', '00:00:00'],
  ['86400.000000', '24:00:00'],
  ['43200.000010', '12:00:00.00001'],
])('the time %s is %s', (epoch, text) => expect(timeText(epoch)).toBe(text));
