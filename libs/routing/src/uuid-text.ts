const LENGTH = 36;
const DIGITS = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));

/**
 * The 36 characters of a UUID, written in parts. One buffer for all ids: concatenating strings is slower, and would leave
 * each kept id a tree of parts.
 */
export class UuidText {
  readonly #text = Buffer.from('00000000-0000-0000-0000-000000000000', 'latin1');

  /** Writes characters 0 to 12. @param ms 48 bits */
  writeMilliseconds(ms: number): void {
    this.#write(0, 8, Math.floor(ms / 0x10000));
    this.#write(9, 4, ms % 0x10000);
  }

  /** Writes the third and fourth group. @param version 16 bits @param variant 16 bits */
  writeMiddle(version: number, variant: number): void {
    this.#write(14, 4, version);
    this.#write(19, 4, variant);
  }

  /** Writes the fifth group. @param high 16 bits @param low 32 bits */
  writeEnd(high: number, low: number): void {
    this.#write(24, 4, high);
    this.#write(28, 8, low);
  }

  read(): string {
    return this.#text.toString('latin1', 0, LENGTH);
  }

  #write(start: number, digits: number, value: number): void {
    let rest = value | 0;
    for (let at = start + digits - 1; at >= start; at--) {
      this.#text[at] = DIGITS[rest & 0xf] ?? 0;
      rest >>>= 4;
    }
  }
}
