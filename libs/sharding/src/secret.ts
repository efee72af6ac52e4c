/**
 * A value that must never be printed: a connection URL, a signing key.
 *
 * `inspect()`, `JSON.stringify()` and string conversion all show a placeholder; only {@link reveal} gives the value.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
    Object.freeze(this);
  }

  /** The value itself. Call it where the value is used, never where something is logged. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[secret]';
  }
}
