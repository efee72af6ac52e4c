/** How the keys of the options were written: `sharding.toml` and the environment in snake_case, code in camelCase. */
export type KeyStyle = 'toml' | 'code';

export function camelCase(key: string): string {
  return key.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}

export function snakeCase(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The key as its author wrote it, for messages. */
export function keyAs(style: KeyStyle, key: string): string {
  return style === 'toml' ? snakeCase(key) : key;
}
