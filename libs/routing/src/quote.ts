const LONGEST = 60;

/**
 * A value that may come from a user, made safe for a message: quoted, shortened to 60 characters, ASCII only.
 * Not for routing keys or tenant ids; those are never echoed.
 */
export function quote(value: unknown): string {
  if (typeof value !== 'string') return typeof value === 'number' ? String(value) : describeType(value);
  const text = value.length > LONGEST ? `${value.slice(0, LONGEST)}...` : value;
  return JSON.stringify(text).replace(
    /[^\x20-\x7e]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The kind of a value in words, without its content. */
export function describeType(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  return `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`;
}

const MOST_NAMES = 20;

/** `a, b, c`; of a long list only the first twenty and how many more there are. */
export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMES).join(', ');
  return names.length > MOST_NAMES ? `${shown} and ${names.length - MOST_NAMES} more` : shown;
}
